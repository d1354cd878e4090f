package bus

// refuseSubscription answers why a subscription is not made active.
func (l *link) refuseSubscription(w *wish) {
	l.send(nil, refusal(w.request.ID, w.err))
}

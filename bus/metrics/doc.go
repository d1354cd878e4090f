// SPDX-License-Identifier: Apache-2.0

// Package metrics shows the counters of publishers and subscribers, and of senders
// and receivers, to Prometheus.
//
//	registry := prometheus.NewRegistry()
//	registry.MustRegister(metrics.OfBuild(""), metrics.OfPublisher(publisher.Stats))
//	http.Handle("/metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
//
// All names begin with tagbus_ and one of these words, as in tagbus_publisher_;
// docs/reference.md lists them and says what to watch. The help of each says what
// it means and what to do when it grows.
//
// The counters are read when Prometheus asks: between two scrapes metrics cost
// nothing. Several may scrape one program. A program with several publishers or subscribers tells them apart by a
// label of its own, which is the same in the next run:
//
//	prometheus.WrapRegistererWith(prometheus.Labels{"publisher": "run control"}, registry).
//		MustRegister(metrics.OfPublisher(p.Stats))
package metrics

// SPDX-License-Identifier: Apache-2.0

package member

import (
	"errors"
	"strings"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"tagbus/access"
	"tagbus/directory/etcd/internal/guard"
	"tagbus/identity"
)

// openAccess reads certificates and policy, as far as there are any.
func (f *front) openAccess(c *Config) error {
	if c.TLS.isZero() && c.Policy == "" {
		return nil
	}
	config := access.Config{Policy: c.Policy, Report: func(err error) {
		if err != nil {
			c.Logger.Warn(err.Error())
		}
	}, Renewed: func(what string) { c.Logger.Info(what) }}
	if !c.TLS.isZero() {
		config.Identity = identity.Config{Certificate: c.TLS.Cert, Key: c.TLS.Key, CA: c.TLS.CA, Revoked: c.Revoked}
	}
	a, err := access.Open(config)
	if err != nil {
		setting, value := "TLS", c.TLS.Cert
		if c.Policy != "" && (c.TLS.isZero() || !isOfCertificates(err)) {
			setting, value = "Policy", c.Policy
		}
		return &SettingError{setting, value, ErrInvalidConfig, err, "give files that can be used"}
	}
	f.access = a
	return nil
}

// problem returns what is wrong with what decides who may do what; "": nothing.
func (f *front) problem() string {
	if !f.access.Failing() {
		return ""
	}
	return "its certificates or its policy cannot be read again: those of before are in use, and what was revoked since is not: " +
		"its log has the file, and the mistake or that its file system does not answer: mend that, and the member takes it within 10 s, or at once on SIGHUP"
}

// ProblemOf returns what a member says that is wrong with it, of what etcd itself does not know; "": nothing.
func ProblemOf(status *clientv3.StatusResponse) string {
	for _, text := range status.Errors {
		if problem, ok := strings.CutPrefix(text, guard.ProblemPrefix); ok {
			return problem
		}
	}
	return ""
}

// AlarmsOf returns the alarms that a member knows without the others.
func AlarmsOf(status *clientv3.StatusResponse) (alarms []etcdserverpb.AlarmType) {
	for _, text := range status.Errors {
		for value, name := range etcdserverpb.AlarmType_name {
			if alarm := etcdserverpb.AlarmType(value); alarm != etcdserverpb.AlarmType_NONE && strings.Contains(text, "alarm:"+name) {
				alarms = append(alarms, alarm)
			}
		}
	}
	return alarms
}

func isOfCertificates(err error) bool {
	var file *identity.FileError
	return errors.As(err, &file)
}

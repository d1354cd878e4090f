// SPDX-License-Identifier: Apache-2.0

package commands

import (
	"errors"
	"strings"
)

// flagNames says in the words of the command line what the packages below say in those of their configuration.
var flagNames = strings.NewReplacer(
	"bridge/out: invalid configuration: ", "",
	"bridge/in: invalid configuration: ", "",
	"bridge/convert: invalid configuration: ", "",
	"bridge/jetstream: invalid configuration: ", "",
	"bridge/kafka: invalid configuration: ", "",
	"Subscription: ", "",
	"bridge/in: position ", "--position ",
	"where From says", "where --from says",
	"Tags are empty", "--tags is empty",
	"HeldBytes is", "--held-bytes is",
	"RecordBytes is", "--record-bytes is",
	"RecordMessages is", "--record-messages is",
	"WindowBytes is", "--window is",
	"MaxChains is", "--max-chains is",
	"Absence is", "--absence is",
	"Speed is", "--speed is",
	"Subscribers is", "--wait-subscribers is",
	"URL is", "--nats is", "URL has", "--nats has",
	"Stream is", "--stream is",
	"Subject: ", "--subject: ",
	"Domain is", "--domain is",
	"Credentials, NKey, User and Token are", "--credentials, --nkey and the user of --nats are",
	"Brokers are", "--kafka is", "Brokers have", "--kafka has", "want User and Password", "want --sasl-user and --sasl-password-file",
	"Topic is", "--topic is",
	"Topic: ", "--topic: ",
	"Index is", "--index-topic is",
	"TransactionalID is", "--transactional-id is",
	"Mechanism is", "--sasl is",
	"MaxKeys is", "--max-keys is",
	"AckTimeout is", "--ack-timeout is",
)

// inFlags returns errors of a configuration in the words of the command line.
func inFlags(errs ...error) error {
	err := errors.Join(errs...)
	if err == nil {
		return nil
	}
	return errors.New(flagNames.Replace(err.Error()))
}

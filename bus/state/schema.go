// SPDX-License-Identifier: Apache-2.0

package state

import _ "embed" // for Schema

// Schema is the JSON schema (draft 2020-12) of [State] and [Process], with a description of
// each field and its unit. It is made of the types and their comments, by
//
//	go test ./bus/state -run TestSchema -update
//
//go:embed schema.json
var Schema string

// SPDX-License-Identifier: Apache-2.0

package state_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"tagbus/bus/state"
	"tagbus/tags"
)

var update = flag.Bool("update", false, "write the schema and the golden file")

// marshal is json.Marshal with text as it is.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(v)
	return bytes.TrimSpace(b.Bytes()), err
}

// schemaOfTypes makes the schema of the types and their comments.
func schemaOfTypes() (string, error) {
	c, err := readComments("state.go", "process.go")
	if err != nil {
		return "", err
	}
	todo := []reflect.Type{reflect.TypeFor[state.Process](), reflect.TypeFor[state.State]()}
	defs := object{}
	for len(todo) > 0 {
		t := todo[0]
		todo = todo[1:]
		if slices.ContainsFunc(defs, func(m member) bool { return m.key == t.Name() }) {
			continue
		}
		def, err := c.define(t, &todo)
		if err != nil {
			return "", err
		}
		defs = append(defs, member{t.Name(), def})
	}
	text, err := marshal(object{
		{"$schema", "https://json-schema.org/draft/2020-12/schema"},
		{"title", "State of tagbus, version 1"},
		{"description", "What an instance (State) or a program with its instances (Process) says of itself. Later programs may add fields: ignore those that are not known."},
		{"oneOf", []object{{{"$ref", "#/$defs/State"}}, {{"$ref", "#/$defs/Process"}}}},
		{"$defs", defs},
	})
	if err != nil {
		return "", err
	}
	var b bytes.Buffer
	err = json.Indent(&b, text, "", "  ")
	return b.String() + "\n", err
}

// TestSchema holds the schema to the types: their fields, which of them are always there,
// and what their comments say.
func TestSchema(t *testing.T) {
	want, err := schemaOfTypes()
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile("schema.json", []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
		return // it is embedded when the test is built
	}
	if diff := cmp.Diff(want, state.Schema); diff != "" {
		t.Errorf("schema.json differs from the types (-want +got); go test ./bus/state -run TestSchema -update makes it:\n%s", diff)
	}
	if state.Version != 1 {
		t.Error("the title of the schema names version 1")
	}
}

// compiled returns the schema, ready to validate.
//
//   - strict: it takes no fields that it does not know.
func compiled(t *testing.T, strict bool) *jsonschema.Schema {
	t.Helper()
	document, err := jsonschema.UnmarshalJSON(strings.NewReader(state.Schema))
	if err != nil {
		t.Fatal(err)
	}
	if strict {
		for def := range maps.Values(document.(map[string]any)["$defs"].(map[string]any)) {
			def.(map[string]any)["additionalProperties"] = false
		}
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("schema.json", document); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// validate returns what is wrong with the JSON form of a value.
func validate(t *testing.T, schema *jsonschema.Schema, v any) error {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return schema.Validate(document)
}

// fill gives every field within v another value, and every slice one element.
func fill(v reflect.Value, next *int) {
	*next++
	switch v.Interface().(type) {
	case time.Time:
		v.Set(reflect.ValueOf(time.Date(2026, 11, 23, 20, 0, *next, 0, time.UTC)))
		return
	case tags.Tag:
		v.Set(reflect.ValueOf(tags.Tag(*next)))
		return
	case state.Role:
		v.Set(reflect.ValueOf(state.Sender))
		return
	case state.Cause:
		v.Set(reflect.ValueOf(state.Overflow))
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), next)
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), next)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), next)
	case reflect.String:
		v.SetString("text " + string(rune('a'+*next%26)))
	case reflect.Int:
		v.SetInt(int64(*next))
	case reflect.Uint64:
		v.SetUint(uint64(*next))
	case reflect.Float64:
		v.SetFloat(float64(*next) / 4)
	case reflect.Bool:
		v.SetBool(true)
	default:
		panic(v.Type().String())
	}
}

// full returns a process of which no field is zero.
func full() (p state.Process) {
	next := 0
	fill(reflect.ValueOf(&p).Elem(), &next)
	return p
}

// TestStatesAreAsTheSchemaSays validates the least and the most that there can be, and what
// the schema must refuse.
func TestStatesAreAsTheSchemaSays(t *testing.T) {
	strict := compiled(t, true)
	most := full()
	for name, v := range map[string]any{
		"a full process": most, "a full state": most.Instances[0],
		"an empty process": state.Process{Instances: []state.State{}}, "a state without fields": state.State{Role: state.Publisher},
		"a state with empty parts": state.State{Role: state.Receiver, Receiving: new(state.Receiving), Sending: new(state.Sending), Peers: []state.Peer{{}}, Busiest: []state.Tag{{}}},
	} {
		if err := validate(t, strict, v); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, v := range map[string]any{
		"nothing": struct{}{}, "a role that is none": state.State{Role: "spy"}, "a process without list of instances": state.Process{},
		"a cause that is none": state.State{Role: state.Publisher, Losses: []state.Loss{{Cause: "bad luck"}}},
		"a negative number":    state.State{Role: state.Publisher, PID: -1},
	} {
		if err := validate(t, strict, v); err == nil {
			t.Errorf("%s: the schema takes it", name)
		}
	}
	later := map[string]any{}
	text, err := json.Marshal(most.Instances[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &later); err != nil {
		t.Fatal(err)
	}
	later["of_a_later_version"] = 1
	if err := validate(t, compiled(t, false), later); err != nil {
		t.Errorf("a field that was added: %v", err)
	}
	if err := validate(t, strict, later); err == nil {
		t.Error("the strict schema takes an unknown field: the other cases prove nothing")
	}
}

// TestGolden keeps names and forms of the fields: programs of users read them.
func TestGolden(t *testing.T) {
	const name = "testdata/process.json"
	got, err := json.MarshalIndent(full(), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	got = append(got, '\n')
	if *update {
		if err := os.WriteFile(name, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("the JSON form has changed (-want +got): fields may be added, by -update, and no other line may change:\n%s", diff)
	}
	var read state.Process
	if err := json.Unmarshal(want, &read); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(full(), read); diff != "" {
		t.Errorf("what is read differs from what was written (-want +got):\n%s", diff)
	}
}

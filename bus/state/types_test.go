// SPDX-License-Identifier: Apache-2.0

package state_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"strings"
	"time"

	"tagbus/tags"
)

// comments are those of the types of the package, by type, and of their fields, by
// "type.field".
type comments struct {
	text  map[string]string
	enums map[string][]string // the constants of a type, in order
}

// readComments reads the comments in Go files.
func readComments(names ...string) (comments, error) {
	c := comments{make(map[string]string), make(map[string][]string)}
	for _, name := range names {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return c, err
		}
		for _, decl := range file.Decls {
			decl, ok := decl.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, spec := range decl.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					c.addType(spec, decl.Doc)
				case *ast.ValueSpec:
					if t, ok := spec.Type.(*ast.Ident); ok && decl.Tok == token.CONST {
						value := spec.Values[0].(*ast.BasicLit).Value
						c.enums[t.Name] = append(c.enums[t.Name], strings.Trim(value, `"`))
						c.text[t.Name+"="+strings.Trim(value, `"`)] = oneLine(spec.Comment)
					}
				}
			}
		}
	}
	return c, nil
}

func (c *comments) addType(spec *ast.TypeSpec, doc *ast.CommentGroup) {
	c.text[spec.Name.Name] = oneLine(doc)
	s, ok := spec.Type.(*ast.StructType)
	if !ok {
		return
	}
	for _, field := range s.Fields.List {
		text := oneLine(field.Comment)
		if text == "" {
			text = oneLine(field.Doc)
		}
		for _, name := range field.Names {
			c.text[spec.Name.Name+"."+name.Name] = text
		}
	}
}

// oneLine returns the text of a comment without line ends.
func oneLine(group *ast.CommentGroup) string {
	return strings.Join(strings.Fields(group.Text()), " ")
}

// object is a JSON object with its keys in order.
type object []member

type member struct {
	key   string
	value any
}

// MarshalJSON implements json.Marshaler.
func (o object) MarshalJSON() ([]byte, error) {
	var b strings.Builder
	for i, m := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		value, err := marshal(m.value)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&b, "%q:%s", m.key, value)
	}
	return []byte("{" + b.String() + "}"), nil
}

// define returns the schema of a struct, and adds those that it has to todo.
func (c *comments) define(t reflect.Type, todo *[]reflect.Type) (object, error) {
	properties, required := object{}, []string{}
	for i := range t.NumField() {
		field := t.Field(i)
		name, option, _ := strings.Cut(field.Tag.Get("json"), ",")
		text := c.text[t.Name()+"."+field.Name]
		if name == "" || text == "" {
			return nil, fmt.Errorf("%s.%s: got JSON name %q and comment %q, want both", t.Name(), field.Name, name, text)
		}
		schema, err := c.schemaOf(field.Type, name, todo)
		if err != nil {
			return nil, fmt.Errorf("%s.%s: %w", t.Name(), field.Name, err)
		}
		if unit := unitOf(field.Type, name); unit != "" {
			text += ". Unit: " + unit
		}
		properties = append(properties, member{name, append(schema, member{"description", text})})
		if option == "" {
			required = append(required, name)
		}
	}
	return object{{"description", c.text[t.Name()]}, {"type", "object"}, {"properties", properties}, {"required", required}}, nil
}

// schemaOf returns the schema of what a field holds.
func (c *comments) schemaOf(t reflect.Type, name string, todo *[]reflect.Type) (object, error) {
	switch {
	case t == reflect.TypeFor[time.Time]():
		return object{{"type", "string"}, {"format", "date-time"}}, nil
	case t == reflect.TypeFor[tags.Tag]():
		return object{{"type", "string"}, {"pattern", "^0x[0-9a-f]{16}$"}}, nil
	case t.Kind() == reflect.Pointer:
		return c.schemaOf(t.Elem(), name, todo)
	case t.Kind() == reflect.Slice:
		items, err := c.schemaOf(t.Elem(), name, todo)
		return object{{"type", "array"}, {"items", items}}, err
	case t.Kind() == reflect.Struct:
		*todo = append(*todo, t)
		return object{{"$ref", "#/$defs/" + t.Name()}}, nil
	case t.Kind() == reflect.String && len(c.enums[t.Name()]) > 0:
		return object{{"type", "string"}, {"enum", c.enums[t.Name()]}}, nil
	case t.Kind() == reflect.String:
		return object{{"type", "string"}}, nil
	case t.Kind() == reflect.Bool:
		return object{{"type", "boolean"}}, nil
	case t.Kind() == reflect.Int, t.Kind() == reflect.Uint64:
		return object{{"type", "integer"}, {"minimum", 0}}, nil
	case t.Kind() == reflect.Float64:
		return object{{"type", "number"}, {"minimum", 0}}, nil
	}
	return nil, fmt.Errorf("no schema for a %v", t)
}

// unitOf returns the unit of a number, which its JSON name ends with.
func unitOf(t reflect.Type, name string) string {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.Int, reflect.Uint64, reflect.Float64:
	default:
		return ""
	}
	switch name {
	case "pid", "state_version":
		return "" // it counts nothing
	case "fullest_queue":
		return "1"
	}
	counted, perSecond := strings.CutSuffix(name, "_per_second")
	unit := counted[strings.LastIndexByte(counted, '_')+1:]
	if perSecond {
		unit += " per second"
	}
	return unit
}

// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"tagbus/internal/stuck"
	"tagbus/tags"
)

// settings gives flags that are not on the command line their values: those of the
// environment, and otherwise those of the file. They are texts, read as those of the
// command line are.
//
// Kong can do both by itself, but then the file comes before the environment, and its
// errors name neither.
type settings struct {
	read   bool
	file   configFile
	origin map[string]string // where the values come from, by the names of the flags
	err    error             // the first
}

// configFlag names the flag that names the file.
const configFlag = "config"

// nameVariables gives each flag of a program its environment variable: TAGBUS_COUNT for
// --count, and TAGBUS_HZ_COUNT for that of the command hz. Kong reads none of them.
func nameVariables(node *kong.Node, prefix string) {
	upper := func(name string) string { return strings.ToUpper(strings.ReplaceAll(name, "-", "_")) }
	for _, flag := range node.Flags {
		switch flag.Name {
		case "help", "version", "fabrics": // they say something and stop
		default:
			flag.Envs = []string{prefix + upper(flag.Name)}
		}
	}
	for _, child := range node.Children {
		nameVariables(child, prefix+upper(child.Name)+"_")
	}
}

// variable returns the environment variable of a flag, or "" if it has none.
func variable(flag *kong.Flag) string {
	if len(flag.Envs) == 0 {
		return ""
	}
	return flag.Envs[0]
}

// fromEnvironment returns the value of a flag in the environment, and its variable. An
// empty variable is none.
func fromEnvironment(flag *kong.Flag) (value, name string) {
	if name = variable(flag); name != "" {
		value = os.Getenv(name)
	}
	return value, name
}

// Validate implements kong.Resolver.
func (s *settings) Validate(*kong.Application) error { return nil }

// Resolve implements kong.Resolver.
func (s *settings) Resolve(ctx *kong.Context, path *kong.Path, flag *kong.Flag) (any, error) {
	if !s.read {
		s.read, s.origin = true, make(map[string]string)
		s.err = s.readFile(ctx)
	}
	if s.err != nil {
		return nil, s.err
	}
	value, origin := fromEnvironment(flag)
	where := origin
	if value == "" {
		key := flag.Name
		if path.Command != nil {
			key = pathOf(path.Command, ".") + "." + key
		}
		setting, ok := s.file.settings[key]
		if !ok || flag.Name == configFlag {
			return nil, nil
		}
		value, origin = setting.value, s.file.at(setting.line)
		where = origin + ": " + key
		if setting.isList && !takesList(flag) {
			s.err = fmt.Errorf("%s: got a list, want one value", where)
			return nil, s.err
		}
	}
	s.origin[flag.Name] = origin
	if err := try(flag, value); err != nil {
		s.err = fmt.Errorf("%s: %w", where, err)
		return nil, s.err
	}
	return value, nil
}

// readFile reads the file that the command line or the environment names, if any.
func (s *settings) readFile(ctx *kong.Context) (err error) {
	var path string
	for _, flag := range ctx.Flags() {
		if flag.Name == configFlag {
			path, _ = fromEnvironment(flag)
		}
	}
	for _, p := range ctx.Path { // the command line
		if p.Flag != nil && p.Flag.Name == configFlag {
			path = ctx.FlagValue(p.Flag).(string)
		}
	}
	if path == "" {
		return nil
	}
	stuck.Named(path, "--"+configFlag)
	read := func() (configFile, error) { return readConfigFile(path, settable(ctx.Model.Node)) }
	if patience := timeout(ctx); patience > 0 {
		s.file, err = stuck.Within(patience, read, func(configFile) {})
	} else {
		s.file, err = read()
	}
	return err
}

// timeout returns the value of the flag --timeout, or 0 if the command has none. The file cannot say it: it is about
// the file.
func timeout(ctx *kong.Context) time.Duration {
	for _, flag := range ctx.Flags() {
		if flag.Name != "timeout" {
			continue
		}
		d, isTime := ctx.FlagValue(flag).(time.Duration)
		onLine := slices.ContainsFunc(ctx.Path, func(p *kong.Path) bool { return p.Flag == flag })
		if value, _ := fromEnvironment(flag); isTime && value != "" && !onLine {
			if said, err := time.ParseDuration(value); err == nil { // else it is refused with the other flags
				d = said
			}
		}
		return d
	}
	return 0
}

// settable returns the flags of a program that a file may set: its own by "", and those of
// its commands by their names, with a point between those of a command within one.
func settable(program *kong.Node) map[string][]string {
	known := map[string][]string{"": nil}
	var add func(node *kong.Node, table string)
	add = func(node *kong.Node, table string) {
		if len(node.Children) > 0 {
			known[table] = []string{}
		}
		for _, flag := range node.Flags {
			if variable(flag) != "" && flag.Name != configFlag {
				known[table] = append(known[table], flag.Name)
			}
		}
		for _, child := range node.Children {
			add(child, pathOf(child, "."))
		}
	}
	add(program, "")
	return known
}

// takesList reports whether a flag is one of several values with commas between them.
func takesList(flag *kong.Flag) bool {
	return flag.IsSlice() || flag.Target.Type() == reflect.TypeFor[tags.Set]()
}

// try reads a value as that of a flag, without effect.
func try(flag *kong.Flag, text string) error {
	target := reflect.New(flag.Target.Type()).Elem()
	if target.Kind() == reflect.Pointer {
		target.Set(reflect.New(target.Type().Elem()))
	}
	scan := kong.Scan().PushTyped(text, kong.FlagValueToken)
	return flag.Mapper.Decode(&kong.DecodeContext{Value: flag.Value, Scan: scan}, target)
}

// explain adds where the flags of a message come from that are not on the command line.
func (s *settings) explain(err error) error {
	if err == nil || s.err != nil {
		return errors.Join(s.err)
	}
	var notes []string
	for _, name := range flagName.FindAllString(Text(err), -1) {
		origin := s.origin[strings.TrimPrefix(name, "--")]
		note := fmt.Sprintf("%s is from %s", name, origin)
		if origin != "" && !slices.Contains(notes, note) {
			notes = append(notes, note)
		}
	}
	if len(notes) == 0 {
		return err
	}
	return fmt.Errorf("%w (%s)", err, strings.Join(notes, ", "))
}

var flagName = regexp.MustCompile(`--[a-z][a-z-]*[a-z]`)

// help returns the text of a flag with its environment variable.
func help(v *kong.Value) string {
	if v.Flag == nil || variable(v.Flag) == "" {
		return v.Help
	}
	return fmt.Sprintf("%s ($%s)", v.Help, variable(v.Flag))
}

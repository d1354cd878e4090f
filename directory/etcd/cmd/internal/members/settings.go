// SPDX-License-Identifier: Apache-2.0

package members

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"
	"github.com/alecthomas/kong"

	"tagbus/internal/stuck"
)

// resolver gives flags that are not on the command line their values: those of the
// environment, and otherwise those of the file.
type resolver struct {
	read   bool
	values map[string]any
	err    error
}

// nameVariables gives each flag its environment variable.
func nameVariables(node *kong.Node) {
	for _, flag := range node.Flags {
		if flag.Name != "help" && flag.Name != "version" {
			flag.Envs = []string{"TAGBUS_" + strings.ToUpper(strings.ReplaceAll(flag.Name, "-", "_"))}
		}
	}
	for _, child := range node.Children {
		nameVariables(child)
	}
}

// Validate implements kong.Resolver.
func (r *resolver) Validate(*kong.Application) error { return nil }

// Resolve implements kong.Resolver.
func (r *resolver) Resolve(ctx *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
	if len(flag.Envs) == 0 {
		return nil, nil
	}
	if value := os.Getenv(flag.Envs[0]); value != "" {
		return value, nil
	}
	if !r.read {
		r.read = true
		r.err = r.readFile(ctx)
	}
	return r.values[flag.Name], r.err
}

// readFile reads the file that the command line or the environment names, if any.
func (r *resolver) readFile(ctx *kong.Context) error {
	path := os.Getenv("TAGBUS_CONFIG")
	for _, p := range ctx.Path {
		if p.Flag != nil && p.Flag.Name == "config" {
			path, _ = ctx.FlagValue(p.Flag).(string)
		}
	}
	if path == "" {
		return nil
	}
	stuck.Named(path, "--config")
	text, err := stuck.ReadFile(path)
	if err == nil {
		_, err = toml.Decode(string(text), &r.values)
	}
	if err != nil {
		return fmt.Errorf("--config %s: %w", path, err)
	}
	known := []string{}
	for _, child := range ctx.Model.Children {
		for _, flag := range child.Flags {
			known = append(known, flag.Name)
		}
	}
	var errs []error
	for key, value := range r.values {
		if !slices.Contains(known, key) {
			errs = append(errs, fmt.Errorf("%s: unknown key %q: want the name of a flag, without dashes in front", path, key))
		}
		if list, ok := value.([]any); ok {
			var texts []string
			for _, one := range list {
				texts = append(texts, fmt.Sprint(one))
			}
			r.values[key] = strings.Join(texts, ",")
		}
	}
	return errors.Join(errs...)
}

// SPDX-License-Identifier: Apache-2.0

// Package acl is the command tagbus acl, which shows what a policy allows, and tests it.
//
// Its commands read the file of a policy (package tagbus/acl) and no bus.
package acl

import (
	"context"
	"fmt"

	"tagbus/acl"
	"tagbus/cmd/internal/cli"
	"tagbus/cmd/internal/table"
	"tagbus/cmd/internal/tool"
	"tagbus/cmd/internal/units"
	"tagbus/identity"
	"tagbus/internal/sanitize"
	"tagbus/tags"
)

// Commands are those of tagbus acl.
type Commands struct {
	Explain Explain `cmd:"" help:"Show what a peer may do with a tag, and which rule of a policy decides it."`
	Test    Test    `cmd:"" help:"Compare a policy with what its owner expects of it. Ends with status 1 if something is otherwise."`
	Check   Check   `cmd:"" help:"Check that policies can be used. Ends with status 1 if one cannot."`
}

// Explain is the command line of explain.
type Explain struct {
	tool.NoBus

	Who    string   `arg:"" help:"Name of a peer, as in its certificate: uri:..., dns:... or cn:..., or anonymous for one without."`
	Tag    tags.Tag `arg:"" help:"The tag."`
	Policy string   `required:"" placeholder:"FILE" help:"File of the policy."`
	Action string   `placeholder:"ACTION" help:"Only this action: publish, subscribe, send, receive or describe. Default: all."`
}

// Check reports what is wrong with the flags.
func (c *Explain) Check() error {
	if _, err := identity.NewPrincipal(c.Who); err != nil {
		return err
	}
	if c.Action != "" {
		if _, err := acl.ParseAction(c.Action); err != nil {
			return fmt.Errorf("--action: %w", err)
		}
	}
	return nil
}

// explained is an explanation in JSON.
type explained struct {
	Who     string   `json:"who"`
	Action  string   `json:"action"`
	Tag     tags.Tag `json:"tag"`
	Allowed bool     `json:"allowed"`
	Rule    int      `json:"rule,omitempty"`
	RuleWho string   `json:"ruleWho,omitempty"`
	Text    string   `json:"text"`
}

func explain(e acl.Explanation) explained {
	return explained{e.Who.String(), e.Action.String(), e.Tag, e.Allowed, e.Rule, e.RuleWho, e.String()}
}

// Run explains.
func (c *Explain) Run(_ context.Context, e *tool.Env) error {
	policy, err := acl.ReadFile(c.Policy)
	if err != nil {
		return err
	}
	who, err := identity.NewPrincipal(c.Who)
	if err != nil {
		return &cli.UsageError{Err: err}
	}
	t := table.New(e.Out, e.JSON, table.Text("ACTION"), table.Text("ALLOWED"), table.Text("WHY"))
	for _, a := range acl.Actions() {
		if c.Action != "" && c.Action != a.String() {
			continue
		}
		x := policy.Explain(who, a, c.Tag)
		if err := t.Row(explain(x), a.String(), yes(x.Allowed), x.String()); err != nil {
			return err
		}
	}
	return t.Flush()
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// Check is the command line of check.
type Check struct {
	tool.NoBus

	Files []string `arg:"" name:"file" help:"Files of policies."`
}

// Run checks the policies.
func (c *Check) Run(_ context.Context, e *tool.Env) error {
	failed := false
	for _, file := range c.Files {
		policy, err := acl.ReadFile(file)
		said := map[string]any{"file": file, "good": err == nil}
		text := ""
		if err != nil {
			failed = true
			text = sanitize.Error(err)
			said["error"] = text
		} else {
			text = sanitize.Linef("%s: %s: good", file, units.FormatNumber(policy.Rules(), "rule"))
			said["rules"] = policy.Rules()
		}
		if e.JSON {
			err = cli.PrintJSON(e.Out, said)
		} else {
			_, err = fmt.Fprintln(e.Out, text)
		}
		if err != nil {
			return err
		}
	}
	if failed {
		return &tool.StatusError{Code: cli.ExitFailed}
	}
	return nil
}

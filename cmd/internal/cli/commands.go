// SPDX-License-Identifier: Apache-2.0

package cli

import "github.com/alecthomas/kong"

// ParseCommand is Parse for a program that has commands, each a field of flags with the tag
// cmd. It returns the one that the command line names, a pointer to its field, and what it
// is called. What a command is says its own Check, if it has one.
//
// The environment variable of a flag of a command has the name of the command in it, and
// in the file such flags are in a table of that name.
func ParseCommand(p Program, flags Flags, args []string, s Streams) (command any, name string, code int, run bool) {
	read, code, run := parse(p, flags, args, s)
	if !run {
		return nil, "", code, false
	}
	return selected(read), commandName(read), ExitDone, true
}

// CommandAt returns the command that a command line names, and where: args[at] is its
// name. ok is false if it names none. The flags are not read.
func CommandAt(p Program, flags Flags, args []string) (name string, at int, ok bool) {
	parser, err := newParser(p, flags)
	if err != nil {
		return "", 0, false
	}
	read, err := kong.Trace(parser, args)
	if err != nil {
		return "", 0, false
	}
	for _, path := range read.Path {
		if path.Command != nil {
			return path.Command.Name, len(args) - len(path.Remainder()) - 1, true
		}
	}
	return "", 0, false
}

// selected returns the command that was read, a pointer to its struct, or nil.
func selected(read *kong.Context) any {
	if read == nil || read.Selected() == nil {
		return nil
	}
	return read.Selected().Target.Addr().Interface()
}

// commandName returns the name of the command that was read, such as rec info, or "".
func commandName(read *kong.Context) string {
	if read == nil || read.Selected() == nil {
		return ""
	}
	return pathOf(read.Selected(), " ")
}

// pathOf returns the name of a command, behind those of the commands that it is one of.
func pathOf(node *kong.Node, separator string) string {
	name := node.Name
	for p := node.Parent; p != nil && p.Type == kong.CommandNode; p = p.Parent {
		name = p.Name + separator + name
	}
	return name
}

// checkCommand checks the flags of the command that was read.
func checkCommand(read *kong.Context) error {
	if command, ok := selected(read).(Flags); ok {
		return command.Check()
	}
	return nil
}

// SPDX-License-Identifier: Apache-2.0

//go:build linux

package screen

import (
	"unicode"
	"unicode/utf8"
)

// Key is a key that was pressed, or something else that a view answers to. A printable
// character is its rune.
type Key rune

// Keys that are no characters.
const (
	Up Key = -1 - iota
	Down
	Left
	Right
	PageUp
	PageDown
	Home
	End
	Enter
	Escape
	Backspace
	ClearLine // ctrl-U
	Quit      // ctrl-C, or the terminal has gone
	Suspend   // ctrl-Z, or the signal that it would send
	Redraw    // ctrl-L, or what is shown may not be there any more
	Resize    // the terminal has another size
)

// maxSequence is how many bytes of an escape sequence are looked at. The rest of a longer
// one is skipped.
const maxSequence = 16

// Parser makes keys of the bytes that a terminal sends, in whatever pieces they come.
// Sequences that it does not know are no keys, and neither is what is not UTF-8.
//
// The zero value is ready. Threads: one. It takes a fixed amount of memory.
type Parser struct {
	state  parserState
	held   [maxSequence]byte // of a sequence: what follows its introducer; or the begin of a character
	length int
	long   bool // there was more than held has room for
}

type parserState int

const (
	ground    parserState = iota
	escaped               // behind ESC
	control               // behind ESC [
	shifted               // behind ESC O
	character             // within one of several bytes
)

const esc = 0x1b

// Feed takes bytes, and reports the keys that they complete.
func (p *Parser) Feed(bytes []byte, emit func(Key)) {
	for _, b := range bytes {
		p.feed(b, emit)
	}
}

// Pending reports whether the bytes so far may be the beginning of a sequence: if none
// follow soon, they are not.
func (p *Parser) Pending() bool { return p.state != ground }

// Flush ends what is pending: an ESC alone is the key of that name.
func (p *Parser) Flush(emit func(Key)) {
	if p.state == escaped {
		emit(Escape)
	}
	p.reset(ground)
}

func (p *Parser) reset(to parserState) { p.state, p.length, p.long = to, 0, false }

func (p *Parser) feed(b byte, emit func(Key)) {
	switch p.state {
	case escaped:
		switch b {
		case '[':
			p.reset(control)
		case 'O':
			p.reset(shifted)
		case esc:
			emit(Escape)
		default:
			emit(Escape)
			p.begin(b, emit)
		}
	case control:
		p.feedControl(b, emit)
	case shifted:
		if b < ' ' {
			p.begin(b, emit)
			return
		}
		p.reset(ground)
		if key, ok := finals[b]; ok {
			emit(key)
		} else if b == 'M' { // of the digits beside the letters
			emit(Enter)
		}
	case character:
		p.feedCharacter(b, emit)
	case ground:
		p.begin(b, emit)
	}
}

// begin takes a byte that continues nothing.
func (p *Parser) begin(b byte, emit func(Key)) {
	p.reset(ground)
	switch {
	case b == esc:
		p.reset(escaped)
	case b < ' ' || b == 0x7f:
		if key, ok := controls[b]; ok {
			emit(key)
		}
	case b < utf8.RuneSelf:
		emit(Key(b))
	case utf8.RuneStart(b):
		p.reset(character)
		p.feedCharacter(b, emit)
	}
}

// feedControl takes a byte of a sequence that ends with one of @ to ~.
func (p *Parser) feedControl(b byte, emit func(Key)) {
	switch {
	case b < ' ' || b > '~': // not of a sequence: what was before it is none
		p.begin(b, emit)
	case b < '@':
		if p.length == len(p.held) {
			p.long = true
			return
		}
		p.held[p.length] = b
		p.length++
	default:
		key, ok := finals[b]
		if b == '~' {
			key, ok = numbers[number(p.held[:p.length])]
		}
		known := ok && !p.long
		p.reset(ground)
		if known {
			emit(key)
		}
	}
}

func (p *Parser) feedCharacter(b byte, emit func(Key)) {
	if p.length > 0 && utf8.RuneStart(b) { // the one before is not whole
		p.begin(b, emit)
		return
	}
	p.held[p.length] = b
	p.length++
	if !utf8.FullRune(p.held[:p.length]) {
		return
	}
	r, size := utf8.DecodeRune(p.held[:p.length])
	whole := size == p.length && r != utf8.RuneError
	p.reset(ground)
	if whole && unicode.IsPrint(r) {
		emit(Key(r))
	}
}

// number returns the digits at the beginning of the parameters of a sequence: modifiers
// such as shift follow behind a semicolon.
func number(parameters []byte) string {
	for i, b := range parameters {
		if b < '0' || b > '9' {
			return string(parameters[:i])
		}
	}
	return string(parameters)
}

var controls = map[byte]Key{
	0x03: Quit, 0x08: Backspace, 0x7f: Backspace, '\r': Enter, '\n': Enter, 0x0c: Redraw, 0x15: ClearLine, 0x1a: Suspend,
}

// finals are the last bytes of sequences that need no number.
var finals = map[byte]Key{
	'A': Up, 'B': Down, 'C': Right, 'D': Left, 'H': Home, 'F': End,
}

// numbers are those before a ~.
var numbers = map[string]Key{
	"1": Home, "7": Home, "4": End, "8": End, "5": PageUp, "6": PageDown,
}

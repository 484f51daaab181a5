package main

import (
	"math"
	"sort"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// JSON as ECMAScript reads and writes it (E6, E7): numbers are doubles, strings are UTF-16 units, which may be surrogates
// without a pair. Go's own package changes such strings, and the order of members.

type kind int

const (
	null kind = iota
	boolean
	numeric
	text
	array
	object
)

type member struct {
	name  []uint16
	value value
}

type value struct {
	kind    kind
	isTrue  bool
	number  float64
	units   []uint16
	items   []value
	members []member
}

func (v value) goString() string { return string(utf16.Decode(v.units)) }

// Compared by units, because decoding makes all lone surrogates equal.
func areSame(one, other []uint16) bool { return !isLess(one, other) && !isLess(other, one) }

// Undefined if the name does not exist.
func (v value) get(name string) (value, bool) {
	units := utf16.Encode([]rune(name))
	for _, one := range v.members {
		if areSame(one.name, units) {
			return one.value, true
		}
	}
	return value{}, false
}

// A second member of the same name replaces the first, so the object is written differently (E5).
func (v *value) set(one member) {
	for n := range v.members {
		if areSame(v.members[n].name, one.name) {
			v.members[n] = one
			return
		}
	}
	v.members = append(v.members, one)
}

func (v value) string(name string) string { found, _ := v.get(name); return found.goString() }
func (v value) int(name string) int64     { found, _ := v.get(name); return int64(found.number) }

func larger(a, b int) int {
	if a > b {
		return a
	}
	return b
}

func (v value) depth() int {
	deepest := 0
	for _, one := range v.items {
		deepest = larger(deepest, one.depth())
	}
	for _, one := range v.members {
		deepest = larger(deepest, one.value.depth())
	}
	if v.kind == array || v.kind == object {
		deepest++
	}
	return deepest
}

// In canonical form (E9), or in the order of ECMAScript (E10).
func (v value) write(isCanonical bool) string {
	switch v.kind {
	case null:
		return "null"
	case boolean:
		return strconv.FormatBool(v.isTrue)
	case numeric:
		return writeNumber(v.number)
	case text:
		return writeString(v.units)
	case array:
		var items []string
		for _, one := range v.items {
			items = append(items, one.write(isCanonical))
		}
		return "[" + strings.Join(items, ",") + "]"
	}
	sorted := append([]member{}, v.members...)
	sort.SliceStable(sorted, func(a, b int) bool {
		if isCanonical {
			return isLess(sorted[a].name, sorted[b].name)
		}
		first, isFirst := index(sorted[a].name)
		second, isSecond := index(sorted[b].name)
		if isFirst && isSecond {
			return first < second
		}
		return isFirst && !isSecond
	})
	var members []string
	for _, one := range sorted {
		members = append(members, writeString(one.name)+":"+one.value.write(isCanonical))
	}
	return "{" + strings.Join(members, ",") + "}"
}

func isLess(a, b []uint16) bool {
	for n := 0; n < len(a) && n < len(b); n++ {
		if a[n] != b[n] {
			return a[n] < b[n]
		}
	}
	return len(a) < len(b)
}

// An integer name up to 2³² − 2.
func index(name []uint16) (uint64, bool) {
	written := string(utf16.Decode(name))
	n, err := strconv.ParseUint(written, 10, 32)
	return n, err == nil && n < math.MaxUint32 && strconv.FormatUint(n, 10) == written
}

// Number.prototype.toString of ECMAScript: plain from 1e-6 to below 1e21, otherwise with an exponent.
func writeNumber(f float64) string {
	if f == 0 {
		return "0"
	}
	if size := math.Abs(f); size >= 1e-6 && size < 1e21 {
		return strconv.FormatFloat(f, 'f', -1, 64)
	}
	mantissa, exponent, _ := strings.Cut(strconv.FormatFloat(f, 'e', -1, 64), "e")
	return mantissa + "e" + exponent[:1] + strings.TrimLeft(exponent[1:], "0")
}

var short = map[uint16]string{'"': `\"`, '\\': `\\`, '\b': `\b`, '\t': `\t`, '\n': `\n`, '\f': `\f`, '\r': `\r`}

func writeString(units []uint16) string {
	written := []byte{'"'}
	escape := func(unit uint16) {
		written = append(written, `\u`...)
		written = append(written, strings.Repeat("0", 4-len(strconv.FormatUint(uint64(unit), 16)))...)
		written = strconv.AppendUint(written, uint64(unit), 16)
	}
	for n := 0; n < len(units); n++ {
		unit := units[n]
		escaped, isShort := short[unit]
		switch {
		case isShort:
			written = append(written, escaped...)
		case unit < 0x20:
			escape(unit)
		case utf16.IsSurrogate(rune(unit)):
			if n+1 < len(units) && utf16.DecodeRune(rune(unit), rune(units[n+1])) != utf8.RuneError {
				written = utf8.AppendRune(written, utf16.DecodeRune(rune(unit), rune(units[n+1])))
				n++
			} else {
				escape(unit)
			}
		default:
			written = utf8.AppendRune(written, rune(unit))
		}
	}
	return string(append(written, '"'))
}

type parser struct {
	text string
	at   int
}

// False if the text is not JSON. The text is UTF-8.
func parse(text string) (parsed value, ok bool) {
	defer func() {
		if recover() != nil {
			ok = false
		}
	}()
	p := &parser{text: text}
	parsed = p.value(0)
	p.space()
	return parsed, p.at == len(text)
}

func (p *parser) space() {
	for p.at < len(p.text) && strings.IndexByte(" \t\n\r", p.text[p.at]) >= 0 {
		p.at++
	}
}

// Panics with the index if the text does not continue like this.
func (p *parser) expect(word string) {
	if !strings.HasPrefix(p.text[p.at:], word) {
		panic(p.at)
	}
	p.at += len(word)
}

func (p *parser) has(word string) bool {
	p.space()
	if strings.HasPrefix(p.text[p.at:], word) {
		p.at += len(word)
		return true
	}
	return false
}

func (p *parser) value(level int) (v value) {
	if level > 10_000 {
		panic(p.at)
	}
	p.space()
	switch p.text[p.at] {
	case 'n':
		p.expect("null")
	case 't':
		p.expect("true")
		v = value{kind: boolean, isTrue: true}
	case 'f':
		p.expect("false")
		v.kind = boolean
	case '"':
		v = value{kind: text, units: p.units()}
	case '[':
		p.at++
		v.kind = array
		for n := 0; !p.has("]"); n++ {
			if n > 0 {
				p.expect(",")
			}
			v.items = append(v.items, p.value(level+1))
		}
	case '{':
		p.at++
		v.kind = object
		for n := 0; !p.has("}"); n++ {
			if n > 0 {
				p.expect(",")
				p.space()
			}
			name := p.units()
			p.space()
			p.expect(":")
			v.set(member{name, p.value(level + 1)})
		}
	default:
		v = value{kind: numeric, number: p.float()}
	}
	return v
}

func (p *parser) float() float64 {
	start := p.at
	for p.at < len(p.text) && strings.IndexByte("+-.0123456789eE", p.text[p.at]) >= 0 {
		p.at++
	}
	// Spellings that JSON does not allow are not those of E6, so they are found later.
	parsed, err := strconv.ParseFloat(p.text[start:p.at], 64)
	if err != nil {
		panic(p.at)
	}
	return parsed
}

func (p *parser) units() (units []uint16) {
	p.expect(`"`)
	for {
		r, size := utf8.DecodeRuneInString(p.text[p.at:])
		p.at += size
		switch {
		case size == 0 || r < 0x20:
			panic(p.at)
		case r == '"':
			return units
		case r != '\\':
			units = append(units, utf16.Encode([]rune{r})...)
			continue
		}
		escaped := p.text[p.at]
		p.at++
		if escaped == 'u' {
			unit, err := strconv.ParseUint(p.text[p.at:p.at+4], 16, 16)
			if err != nil {
				panic(p.at)
			}
			p.at += 4
			units = append(units, uint16(unit))
			continue
		}
		n := strings.IndexByte(`"\/bfnrt`, escaped)
		units = append(units, uint16("\"\\/\b\f\n\r\t"[n]))
	}
}

// A verifier written from docs/spec/history-format.md only. It runs the test vectors of that page:
//
//	GO111MODULE=off go run ./verify VECTORS.json
//
// It prints how many of each kind agree. Its status is 1 at the first that does not. Letters and numbers name clauses.
package main

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"reflect"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/mod/sumdb/tlog"
)

// The first difference ends the verification. Without a position, it concerns the whole.
type difference struct {
	position int64
	reason   string
}

func demand(condition bool, position int64, reason string) {
	if !condition {
		panic(difference{position, reason})
	}
}

const none = -1

type verdict struct {
	Ok                 bool    `json:"ok"`
	Events             int64   `json:"events"`
	ProvedEvents       int64   `json:"provedEvents"`
	NewerEvents        int64   `json:"newerEvents"`
	FirstWrongPosition *int64  `json:"firstWrongPosition"`
	UnprovedPersonal   int64   `json:"unprovedPersonal"`
	Warnings           []int64 `json:"warnings"`
	reason             string
	upTo               int64
}

// The pattern of a UUID (A1), of a time (A5) and of a verifier key (C4).
var (
	uuid   = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)
	moment = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$`)
	key    = regexp.MustCompile(`^([^+\s]+)\+([0-9a-f]{8})\+(\S+)$`)
	line   = regexp.MustCompile(`^— ([^+\s]+) (\S+)$`)
	digits = regexp.MustCompile(`^(0|[1-9][0-9]{0,15})$`)
)

func parseTime(text string) (int64, bool) {
	parsed, err := time.Parse("2006-01-02T15:04:05.000Z", text)
	return parsed.UnixMilli(), err == nil && moment.MatchString(text)
}

// A3: the one encoding of its bytes.
func fromBase64(text string) ([]byte, bool) {
	decoded, err := base64.StdEncoding.Strict().DecodeString(text)
	return decoded, err == nil && base64.StdEncoding.EncodeToString(decoded) == text
}

// A4.
func number(text string) (int64, bool) {
	n, err := strconv.ParseInt(text, 10, 64)
	return n, err == nil && digits.MatchString(text) && n < 1<<53
}

func cutPrefix(text, prefix string) (string, bool) {
	return strings.TrimPrefix(text, prefix), strings.HasPrefix(text, prefix)
}

func hashOf(bytes []byte) (hash tlog.Hash) {
	copy(hash[:], bytes)
	return hash
}

func int64Bytes(n int64) []byte {
	return binary.BigEndian.AppendUint64(nil, uint64(n))
}

type verifierKey struct {
	name  string
	id    []byte
	bytes []byte
}

func keyOf(name string, bytes []byte) verifierKey {
	sum := sha256.Sum256(append([]byte(name+"\n"), bytes...))
	return verifierKey{name, sum[:4], bytes}
}

// C4.
func parseKey(text string) (verifierKey, bool) {
	parts := key.FindStringSubmatch(text)
	if parts == nil {
		return verifierKey{}, false
	}
	bytes, ok := fromBase64(parts[3])
	if !ok || len(bytes) != 33 || bytes[0] != 1 {
		return verifierKey{}, false
	}
	parsed := keyOf(parts[1], bytes)
	return parsed, hex.EncodeToString(parsed.id) == parts[2]
}

func (k verifierKey) signed(text string, signature []byte) bool {
	return len(signature) == ed25519.SignatureSize && ed25519.Verify(k.bytes[1:], []byte(text), signature)
}

type part struct {
	first, start, end int64
	hash              tlog.Hash
}

type checkpoint struct {
	organization           string
	size, position, sealed int64
	root                   tlog.Hash
	parts                  []part
}

// Whether the key has signed the note (C3, C6, C7). Returns the signed text.
func openNote(note string, k verifierKey) (text string, isSigned bool) {
	end := strings.LastIndex(note, "\n\n")
	demand(end >= 0 && strings.HasSuffix(note[end+2:], "\n"), none, "no note")
	text = note[:end+1]
	for _, one := range strings.Split(strings.TrimSuffix(note[end+2:], "\n"), "\n") {
		fields := line.FindStringSubmatch(one)
		demand(fields != nil, none, "no signature line")
		bytes_, ok := fromBase64(fields[2])
		demand(ok && len(bytes_) >= 5, none, "no signature line")
		if fields[1] == k.name && bytes.Equal(bytes_[:4], k.id) {
			demand(k.signed(text, bytes_[4:]), none, "a false signature")
			isSigned = true
		}
	}
	return text, isSigned
}

// C1, C2, C5, P3.
func parseText(text string, k verifierKey) (c checkpoint) {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	demand(len(lines) >= 5, none, "too few lines")
	var isOrigin, isSize, isPosition, isTime bool
	c.organization, isOrigin = cutPrefix(lines[0], "advocacy-api/")
	isLog := c.organization == "all" || uuid.MatchString(c.organization)
	demand(isOrigin && isLog, none, "no origin")
	demand(k.name == lines[0] || k.name == "advocacy-api", none, "the key of other checkpoints")
	c.size, isSize = number(lines[1])
	root, isRoot := fromBase64(lines[2])
	position, hasPosition := cutPrefix(lines[3], "position ")
	c.position, isPosition = number(position)
	sealed, hasTime := cutPrefix(lines[4], "sealed ")
	c.sealed, isTime = parseTime(sealed)
	demand(isSize && isRoot && len(root) == 32, none, "no tree")
	demand(hasPosition && isPosition && hasTime && isTime, none, "no position or time")
	c.root = hashOf(root)
	var end int64
	for _, one := range lines[5:] {
		fields := strings.Split(one, " ")
		demand(len(fields) == 5 && fields[0] == "part", none, "another line")
		first, isFirst := number(fields[1])
		_, isLast := number(fields[2])
		leaves, isCount := number(fields[3])
		hash, isHash := fromBase64(fields[4])
		demand(isFirst && isLast && isCount && isHash && len(hash) == 32, none, "no part")
		demand(leaves > 0 && leaves&(leaves-1) == 0 && end%leaves == 0 && end+leaves <= c.size, none, "no subtree")
		c.parts = append(c.parts, part{first, end, end + leaves, hashOf(hash)})
		end += leaves
	}
	return c
}

// The checkpoint, opened with the key or one that succeeded it: K1 to K6.
func open(note, given, export string) checkpoint {
	k, ok := parseKey(given)
	demand(ok, none, "no verifier key")
	text, isSigned := openNote(note, k)
	if isSigned {
		return parseText(text, k)
	}
	organization := parseText(text, verifierKey{name: "advocacy-api"}).organization
	var found *verifierKey
	last := k
	for _, one := range strings.Split(export, "\n") {
		var event struct {
			StreamType, Type string
			Data             struct{ From, To, Signature any }
		}
		if json.Unmarshal([]byte(one), &event) != nil {
			continue
		}
		if event.StreamType != "signing-key" || event.Type != "SigningKeyRotated" {
			continue
		}
		from, isFrom := event.Data.From.(string)
		to, isTo := event.Data.To.(string)
		signature, isSignature := event.Data.Signature.(string)
		before, isKey := parseKey(from)
		if !isFrom || !isTo || !isSignature || !isKey || !bytes.Equal(before.bytes, last.bytes) {
			continue
		}
		statement := "advocacy-api signing key\n" + organization + "\n" + from + "\n" + to + "\n"
		own, _ := fromBase64(signature)
		demand(last.signed(statement, own), none, "a false successor")
		next, isKey := parseKey(to)
		demand(isKey, none, "a successor that is not a key")
		last = keyOf(k.name, next.bytes)
		if _, isSigned := openNote(note, last); isSigned {
			signer := last
			found = &signer
		}
	}
	demand(found != nil, none, "not signed with this key")
	return parseText(text, *found)
}

// D4, D1: what the digest covers, in the order of canonical form.
var covered = []string{"data", "eventId", "metadata", "organizationId", "personal", "schema", "streamId", "streamType", "subjectId", "type", "version"}

// The members of a line (E3), and what they must be.
var members = []struct {
	name string
	is   func(value) bool
}{
	{"position", whole(1, 1<<53-1)}, {"previousPosition", whole(0, 1<<53-1)}, {"organizationId", isText},
	{"streamType", isText}, {"streamId", isUUID}, {"version", whole(1, 1<<31-1)}, {"eventId", isText},
	{"type", isText}, {"schema", whole(1, 1<<15-1)}, {"data", isObject}, {"personal", orNull(isObject)},
	{"encryptedPersonal", orNull(isText)}, {"subjectId", orNull(isUUID)}, {"metadata", isObject},
	{"recordedAt", isText}, {"digest", isText},
}

func isText(v value) bool   { return v.kind == text }
func isObject(v value) bool { return v.kind == object }
func isUUID(v value) bool   { return v.kind == text && uuid.MatchString(v.goString()) }
func whole(least, most float64) func(value) bool {
	return func(v value) bool {
		return v.kind == numeric && v.number == float64(int64(v.number)) && v.number >= least && v.number <= most
	}
}
func orNull(is func(value) bool) func(value) bool {
	return func(v value) bool { return v.kind == null || is(v) }
}

type place struct{ position, previous int64 }

type event struct {
	value
	recordedAt, position int64
	leaf                 tlog.Hash
}

// V1, step 2, without the version.
func readEvent(line string, before place, organization string) event {
	next := before.position + 1
	demand(len(line) <= 16<<20 && utf8.ValidString(line), next, "no UTF-8, or too long")
	parsed, ok := parse(line)
	demand(ok && parsed.kind == object, next, "no JSON object")
	spelled := "{"
	for n, member := range members {
		found, exists := parsed.get(member.name)
		demand(exists && member.is(found), next, "no "+member.name)
		if n > 0 {
			spelled += ","
		}
		spelled += `"` + member.name + `":`
		// E9, E10: one of two orders.
		form := found.write(true)
		if rest := strings.TrimPrefix(line, spelled); rest != line && !strings.HasPrefix(rest, form) {
			form = found.write(false)
		}
		spelled += form
	}
	for _, name := range []string{"data", "personal", "metadata"} {
		found, _ := parsed.get(name)
		demand(found.depth() <= 200, next, "nested too deeply")
	}
	demand(spelled+"}" == line, next, "another spelling")

	e := event{value: parsed, position: parsed.int("position")}
	previous := parsed.int("previousPosition")
	disputed := before.position
	if previous > before.previous {
		disputed = previous
	}
	demand(previous == before.position, disputed, "an event is missing, or was inserted")
	demand(e.position > previous, next, "positions do not ascend")
	demand(parsed.string("organizationId") == organization, e.position, "of another organization")
	personal, _ := parsed.get("personal")
	encrypted, _ := parsed.get("encryptedPersonal")
	demand(personal.kind == null || encrypted.kind != null, e.position, "personal data from nowhere")
	metadata, _ := parsed.get("metadata")
	if stated, exists := metadata.get("personalDigest"); exists && personal.kind != null {
		own := sha256.Sum256([]byte(personal.write(true)))
		demand(stated.kind == text && stated.goString() == hex.EncodeToString(own[:]), e.position, "other personal data")
	}
	recordedAt, isTime := parseTime(parsed.string("recordedAt"))
	demand(isTime, e.position, "no time")
	e.recordedAt = recordedAt
	body := "{"
	for n, name := range covered {
		if n > 0 {
			body += ","
		}
		content, _ := parsed.get(name)
		if name == "personal" {
			content = encrypted
		}
		body += `"` + name + `":` + content.write(true)
	}
	inner := sha256.Sum256([]byte(body + "}"))
	digest := sha256.Sum256(append(inner[:], int64Bytes(recordedAt)...))
	demand(parsed.string("digest") == hex.EncodeToString(digest[:]), e.position, "not the digest of its content")
	e.leaf = tlog.RecordHash(append(int64Bytes(e.position), digest[:]...))
	return e
}

// RFC 6962, section 2.1.
func treeHash(leaves []tlog.Hash) tlog.Hash {
	switch len(leaves) {
	case 0:
		return sha256.Sum256(nil)
	case 1:
		return leaves[0]
	}
	k := 1
	for 2*k < len(leaves) {
		k *= 2
	}
	return tlog.NodeHash(treeHash(leaves[:k]), treeHash(leaves[k:]))
}

// V1, step 5.
var endings = map[string]bool{"ContactErased": true, "ApiKeyRotated": true, "ApiKeyRevoked": true,
	"SuppressedAddressErased": true, "SignatureConfirmed": true, "SignatureExpired": true, "SignUpConfirmed": true,
	"SignUpExpired": true, "InvitationRevoked": true, "MemberRemoved": true}

type entry struct{ previous, size, root string }

// An export of the register and its checkpoint.
type register struct{ Export, Checkpoint string }

var sha = regexp.MustCompile(`^[0-9a-f]{64}$`)

// R5, steps 1 and 2. Returns the entries by their previous.
func (r register) open(given string) map[string]entry {
	if k, ok := parseKey(given); ok && k.name != "advocacy-api" {
		k = keyOf("advocacy-api/00000000-0000-0000-0000-000000000001", k.bytes)
		given = k.name + "+" + hex.EncodeToString(k.id) + "+" + base64.StdEncoding.EncodeToString(k.bytes)
	}
	c := open(r.Checkpoint, given, r.Export)
	demand(c.organization == "00000000-0000-0000-0000-000000000001", none, "not the register")
	own := verify(r.Export, r.Checkpoint, given, nil)
	demand(own.Ok, none, "the register: "+own.reason)
	entries := map[string]entry{}
	for _, one := range strings.Split(strings.TrimSuffix(r.Export, "\n"), "\n") {
		event, ok := parse(one)
		if !ok || event.string("type") != "CheckpointsRegistered" || event.int("position") > c.position {
			continue
		}
		data, _ := event.get("data")
		list, _ := data.get("checkpoints")
		demand(list.kind == array, none, "no entries")
		for _, element := range list.items {
			e := entry{}
			for name, target := range map[string]*string{"previous": &e.previous, "size": &e.size, "root": &e.root} {
				found, exists := element.get(name)
				demand(exists && found.kind == text && sha.MatchString(found.goString()), none, "a malformed entry")
				*target = found.goString()
			}
			_, known := entries[e.previous]
			demand(!known, none, "two entries after the same one")
			entries[e.previous] = e
		}
	}
	return entries
}

// R5, steps 3 and 4. Returns the size that was reached.
func follow(entries map[string]entry, organization string, leaves []tlog.Hash, size int64) (reached int64, mistake string) {
	hash := func(field, value string) string {
		sum := sha256.Sum256([]byte("advocacy-api register " + field + "\n" + organization + "\n" + value + "\n"))
		return hex.EncodeToString(sum[:])
	}
	decimal := func(n int64) string { return strconv.FormatInt(n, 10) }
	for {
		e, exists := entries[hash("previous", decimal(reached))]
		t := reached + 1
		for exists && t <= int64(len(leaves)) && hash("size", decimal(t)) != e.size {
			t++
		}
		if !exists || t > int64(len(leaves)) {
			break
		}
		root := treeHash(leaves[:t])
		if hash("root", base64.StdEncoding.EncodeToString(root[:])) != e.root {
			return reached, "the register has another history"
		}
		reached = t
	}
	if reached < size {
		return reached, "the register does not cover the checkpoint"
	}
	return reached, ""
}

func verify(export, note, given string, reg *register) (v verdict) {
	v.Warnings = []int64{}
	defer func() {
		found := recover()
		if found == nil {
			v.Ok = true
			return
		}
		d, isDifference := found.(difference)
		if !isDifference {
			panic(found)
		}
		v.reason = d.reason
		if d.position != none {
			v.FirstWrongPosition = &d.position
		}
	}()
	c := open(note, given, export)
	var entries map[string]entry
	if reg != nil {
		entries = reg.open(given)
	}
	demand(c.size > 0 || c.root == treeHash(nil), none, "no events have another root")
	var leaves []tlog.Hash
	before := place{0, -1}
	afterParts := int64(1)
	type state struct{ version, time int64 }
	// endedLate: whether the checkpoint does not cover the event that ended a subject.
	streams, unreadable, endedLate := map[string]state{}, map[string]int64{}, map[string]bool{}
	latest := int64(-1 << 62)
	// N4, N5.
	missing := func() {
		position := afterParts
		if before.position < c.position {
			position = before.position + 1
		}
		panic(difference{position, "events of the checkpoint are missing"})
	}
	isComplete := func() bool { return int64(len(leaves)) >= c.size }
	lines := strings.SplitAfter(export, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	for _, one := range lines {
		v.Events++
		e := func() event {
			defer func() {
				if found, isDifference := recover().(difference); isDifference {
					if !isComplete() && found.position > c.position {
						missing()
					}
					panic(found)
				}
			}()
			demand(strings.HasSuffix(one, "\n"), before.position+1, "no line feed")
			return readEvent(strings.TrimSuffix(one, "\n"), before, c.organization)
		}()
		isNewer := isComplete()
		demand(!isNewer || e.position > c.position, e.position, "inserted after the checkpoint")
		if !isNewer && e.position > c.position {
			missing()
		}
		if isNewer {
			v.NewerEvents++
		}
		stream := e.string("streamId")
		previous, exists := streams[stream]
		demand(e.int("version") == previous.version+1, e.position, "not the next version of its stream")
		// N2.
		if (exists && e.recordedAt < previous.time) || e.recordedAt < latest-60_000 ||
			(!isNewer && e.recordedAt > c.sealed+60_000) {
			v.Warnings = append(v.Warnings, e.position)
		}
		if e.recordedAt > latest {
			latest = e.recordedAt
		}
		streams[stream] = state{previous.version + 1, e.recordedAt}
		if _, hasEnded := endedLate[stream]; endings[e.string("type")] && !hasEnded {
			endedLate[stream] = isNewer
		}
		personal, _ := e.get("personal")
		encrypted, _ := e.get("encryptedPersonal")
		metadata, _ := e.get("metadata")
		if subject := e.string("subjectId"); personal.kind == null && encrypted.kind != null {
			if _, known := unreadable[subject]; !known {
				unreadable[subject] = e.position
			}
		}
		if _, isProved := metadata.get("personalDigest"); !isProved && len(personal.members) > 0 {
			v.UnprovedPersonal++
		}
		before = place{e.position, e.int("previousPosition")}
		if !isNewer && int64(len(leaves)) == v.ProvedEvents {
			afterParts = e.position
		}
		leaves = append(leaves, e.leaf)
		if isNewer {
			continue
		}
		for _, p := range c.parts {
			if p.end == int64(len(leaves)) {
				demand(treeHash(leaves[p.start:p.end]) == p.hash, p.first, "a part differs")
				v.ProvedEvents = p.end
			}
		}
		if isComplete() {
			demand(treeHash(leaves) == c.root, afterParts, "the root differs")
			v.ProvedEvents = c.size
		}
	}
	if !isComplete() {
		missing()
	}
	first := int64(none)
	var late []int64
	for subject, position := range unreadable {
		isLate, hasEnded := endedLate[subject]
		if !hasEnded && (first == none || position < first) {
			first = position
		}
		if isLate && position <= c.position {
			late = append(late, position)
		}
	}
	demand(first == none, first, "personal data that cannot be read although nothing destroyed its key")
	sort.Slice(late, func(a, b int) bool { return late[a] < late[b] })
	v.Warnings = append(v.Warnings, late...)
	if reg != nil {
		reached, mistake := follow(entries, c.organization, leaves, c.size)
		v.upTo = reached
		demand(mistake == "", none, mistake)
	}
	return v
}

type count struct {
	Signatures  int64 `json:"signatures"`
	Withdrawn   int64 `json:"withdrawn"`
	Invalidated int64 `json:"invalidated"`
}

// Q1 to Q11. Returns nil and the reason if the certificate proves nothing.
func countOf(certificate, given string) (counted *count, reason string) {
	defer func() {
		if found := recover(); found != nil {
			d, isDifference := found.(difference)
			if !isDifference {
				panic(found)
			}
			counted, reason = nil, d.reason
		}
	}()
	demand(strings.HasSuffix(certificate, "\n"), none, "incomplete")
	lines := strings.Split(strings.TrimSuffix(certificate, "\n"), "\n")
	head, ok := parse(lines[0])
	demand(ok && len(lines) > 1, none, "no certificate")
	for n, name := range []string{"format", "organizationId", "petitionId", "checkpoint"} {
		demand(len(head.members) == 4 && head.members[n].value.kind == text, none, "no certificate")
		_, exists := head.get(name)
		demand(exists && string(utf16.Decode(head.members[n].name)) == name, none, "no certificate")
	}
	demand(head.write(false) == lines[0] && head.string("format") == "advocacy-count-certificate/1", none, "no certificate")
	k, isKey := parseKey(given)
	demand(isKey, none, "no verifier key")
	note, isSigned := openNote(head.string("checkpoint"), k)
	demand(isSigned, none, "not signed with this key")
	c := parseText(note, k)
	demand(c.organization == head.string("organizationId"), none, "of another organization")
	type signature struct{ withdrawn, invalid bool }
	signatures, versions := map[string]*signature{}, map[string]int64{}
	var nodes []part
	var end, position int64
	for _, one := range lines[1 : len(lines)-1] {
		if strings.HasPrefix(one, `{"leaves":`) {
			parsed, ok := parse(one)
			demand(ok && parsed.write(false) == one && len(parsed.members) == 2, none, "no hash")
			leaves, _ := parsed.get("leaves")
			encoded, isHash := fromBase64(parsed.string("hash"))
			demand(whole(1, 1<<53-1)(leaves) && isHash && len(encoded) == 32, none, "no hash")
			n := parsed.int("leaves")
			demand(n&(n-1) == 0 && end%n == 0 && end+n <= c.size, none, "no complete subtree")
			nodes = append(nodes, part{0, end, end + n, hashOf(encoded)})
			end += n
			continue
		}
		e := readEvent(one, place{position, -1}, c.organization)
		position = e.position
		personal, _ := e.get("personal")
		demand(personal.kind == null && position <= c.position && end < c.size, none, "readable, or not covered")
		data, _ := e.get("data")
		demand(data.string("petitionId") == head.string("petitionId"), none, "of another petition")
		stream := e.string("streamId")
		demand(e.int("version") == versions[stream]+1, none, "an event of its stream is missing")
		versions[stream]++
		switch kind := e.string("type"); kind {
		case "PetitionSigned":
			demand(versions[stream] == 1, none, "not a new signature")
			signatures[stream] = &signature{}
		case "SignatureMoved", "SignatureWithdrawn":
			demand(signatures[stream] != nil, none, "its signature is missing")
			signatures[stream].withdrawn = signatures[stream].withdrawn || kind == "SignatureWithdrawn"
		case "SignaturesInvalidated", "SignaturesRestored":
			ids, _ := data.get("signatureIds")
			demand(ids.kind == array, none, "no signatures")
			for _, id := range ids.items {
				demand(signatures[id.goString()] != nil, none, "a signature is missing")
				signatures[id.goString()].invalid = kind == "SignaturesInvalidated"
			}
		default:
			demand(false, none, "another type")
		}
		nodes = append(nodes, part{0, end, end + 1, e.leaf})
		end++
	}
	demand(end == c.size && rootOf(nodes, 0, end) == c.root, none, "another root")
	counted = &count{}
	for _, one := range signatures {
		switch {
		case one.withdrawn:
			counted.Withdrawn++
		case one.invalid:
			counted.Invalidated++
		default:
			counted.Signatures++
		}
	}
	stated, _ := json.Marshal(counted)
	demand(string(stated) == lines[len(lines)-1], none, "another count")
	return counted, ""
}

// The root of complete subtrees that cover the leaves from start to before end.
func rootOf(nodes []part, start, end int64) tlog.Hash {
	if start == end {
		return treeHash(nil)
	}
	at := sort.Search(len(nodes), func(n int) bool { return nodes[n].start >= start })
	if at < len(nodes) && nodes[at].start == start && nodes[at].end == end {
		return nodes[at].hash
	}
	demand(end-start > 1, none, "a subtree that is not complete")
	k := int64(1)
	for 2*k < end-start {
		k *= 2
	}
	return tlog.NodeHash(rootOf(nodes, start, start+k), rootOf(nodes, start+k, end))
}

// C8, C9: of two texts of one log, the older first.
func contradict(older, newer string) bool {
	k := verifierKey{name: "advocacy-api"}
	a, b := parseText(older, k), parseText(newer, k)
	if a.size == b.size {
		return a.root != b.root || a.position != b.position || a.sealed != b.sealed
	}
	return a.position >= b.position || a.sealed > b.sealed
}

type vectors struct {
	Digests []struct {
		Canonical, RecordedAt, Digest, Leaf, LeafHash string
		Position                                      int64
	}
	PersonalDigests []struct{ Personal, PersonalDigest string }
	Roots           []struct {
		Size int64
		Root tlog.Hash
	}
	Inclusion []struct {
		Index, Size int64
		Path        []tlog.Hash
	}
	Consistency []struct {
		Older, Newer int64
		Path         []tlog.Hash
	}
	Contradictions []struct {
		Name, Older, Newer string
		Contradict         bool
	}
	Verdicts  []verdictVector
	Registers []struct {
		verdictVector
		Register register
		UpTo     int64
	}
	Certificates []struct {
		Name, Certificate, Key string
		Count                  *count
	}
}

type verdictVector struct {
	Name, Export, Checkpoint, Key string
	Verdict                       map[string]any
}

func (one verdictVector) compare(found verdict) {
	encoded, _ := json.Marshal(found)
	var own map[string]any
	json.Unmarshal(encoded, &own)
	for member, expected := range one.Verdict {
		require(reflect.DeepEqual(own[member], expected), one.Name, ": ", member, " is ", own[member], ", not ", expected, ": ", found.reason)
	}
}

func require(condition bool, what string, details ...any) {
	if !condition {
		log.Fatal(what, " ", fmt.Sprint(details...))
	}
}

func main() {
	log.SetFlags(0)
	require(len(os.Args) == 2, "main.go VECTORS.json")
	file, err := os.ReadFile(os.Args[1])
	require(err == nil, "the file", err)
	var all vectors
	require(json.Unmarshal(file, &all) == nil, "the vectors")

	var leaves []tlog.Hash
	for _, one := range all.Digests {
		parsed, ok := parse(one.Canonical)
		require(ok && parsed.write(true) == one.Canonical, "canonical form", one.Canonical)
		recordedAt, _ := parseTime(one.RecordedAt)
		body := sha256.Sum256([]byte(one.Canonical))
		digest := sha256.Sum256(append(body[:], int64Bytes(recordedAt)...))
		leaf := append(int64Bytes(one.Position), digest[:]...)
		hash := tlog.RecordHash(leaf)
		require(hex.EncodeToString(digest[:]) == one.Digest && hex.EncodeToString(leaf) == one.Leaf, "digest", one.Digest)
		require(hex.EncodeToString(hash[:]) == one.LeafHash, "leaf", one.Leaf)
		leaves = append(leaves, hash)
	}
	for _, one := range all.PersonalDigests {
		sum := sha256.Sum256([]byte(one.Personal))
		require(hex.EncodeToString(sum[:]) == one.PersonalDigest, "personal digest", one.Personal)
	}
	for _, one := range all.Roots {
		require(treeHash(leaves[:one.Size]) == one.Root, "root", one.Size)
	}
	for _, one := range all.Inclusion {
		err := tlog.CheckRecord(one.Path, one.Size, treeHash(leaves[:one.Size]), one.Index, leaves[one.Index])
		require(err == nil, "inclusion", err)
	}
	for _, one := range all.Consistency {
		// The library has no empty tree.
		if one.Older == 0 || one.Older == one.Newer {
			require(len(one.Path) == 0, "consistency", one)
			continue
		}
		err := tlog.CheckTree(one.Path, one.Newer, treeHash(leaves[:one.Newer]), one.Older, treeHash(leaves[:one.Older]))
		require(err == nil, "consistency", err)
	}
	for _, one := range all.Contradictions {
		require(contradict(one.Older, one.Newer) == one.Contradict, "contradiction", one.Name)
	}
	for _, one := range all.Verdicts {
		one.compare(verify(one.Export, one.Checkpoint, one.Key, nil))
	}
	for _, one := range all.Registers {
		found := verify(one.Export, one.Checkpoint, one.Key, &one.Register)
		one.compare(found)
		require(found.upTo == one.UpTo, one.Name, ": up to ", found.upTo, ", not ", one.UpTo)
	}
	for _, one := range all.Certificates {
		found, reason := countOf(one.Certificate, one.Key)
		require(reflect.DeepEqual(found, one.Count), one.Name, ": ", reason)
	}
	numbers, _ := json.Marshal(map[string]int{"digests": len(all.Digests), "contradictions": len(all.Contradictions),
		"verdicts": len(all.Verdicts), "registers": len(all.Registers), "certificates": len(all.Certificates)})
	fmt.Println(string(numbers))
}

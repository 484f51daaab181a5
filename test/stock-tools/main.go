// Verifies the history of an organization with what Go verifies the checksums of its modules with, golang.org/x/mod's note and
// tlog, and with nothing of this project: what the server says is taken for a log like any other.
//
//	GO111MODULE=off go run main.go ORIGIN ORGANIZATION VERIFIER-KEY   (the API key is read from stdin)
//
// It asks for the checkpoint, every leaf by its tiles, a proof for every event and for every earlier size, and the export, and
// prints how many of each it has verified. Its status is 1 at the first that does not verify.
package main

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"strings"
	"time"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

// Leaves under a tile: 2 to the power of its height.
const tileHeight, tileWidth = 8, 256

type client struct {
	origin, organization, apiKey string
	verifiers                    note.Verifiers
}

func main() {
	log.SetFlags(0)
	if len(os.Args) != 4 {
		log.Fatal("main.go ORIGIN ORGANIZATION VERIFIER-KEY")
	}
	apiKey, err := io.ReadAll(os.Stdin)
	check(err, "the API key")
	verifier, err := note.NewVerifier(os.Args[3])
	check(err, "the verifier key")
	c := &client{os.Args[1], os.Args[2], strings.TrimSpace(string(apiKey)), note.VerifierList(verifier)}

	tree := c.open(string(c.get("/log/" + c.organization + "/checkpoint")))
	hashes := tlog.TileHashReader(tree, c)
	leaves := c.leaves(tree.N)
	for n, leaf := range leaves {
		proof, err := tlog.ProveRecord(tree.N, int64(n), hashes)
		check(err, "tiles")
		check(tlog.CheckRecord(proof, tree.N, tree.Hash, int64(n), tlog.RecordHash(leaf)), "a leaf by tiles")
	}

	events := c.export()
	if int64(len(events)) < tree.N {
		log.Fatalf("the export has %d events, the tree %d leaves", len(events), tree.N)
	}
	for n, event := range events[:tree.N] {
		if !bytes.Equal(event.leaf(), leaves[n]) {
			log.Fatalf("event %d of the export is not leaf %d", event.Position, n)
		}
		c.checkInclusion(event, int64(n))
	}

	for size := int64(1); size <= tree.N; size++ {
		var answer struct {
			Data struct {
				Checkpoint  string
				Consistency []tlog.Hash
			}
		}
		c.getJSON(fmt.Sprintf("/v1/history.get-checkpoint?size=%d", size), &answer)
		newer := c.open(answer.Data.Checkpoint)
		older, err := tlog.TreeHash(size, hashes)
		check(err, "tiles")
		check(tlog.CheckTree(answer.Data.Consistency, newer.N, newer.Hash, size, older), "consistency")
	}
	fmt.Printf(`{"leaves":%d,"inclusions":%d,"consistencies":%d}`+"\n", len(leaves), tree.N, tree.N)
}

// An exported event, its values as they are spelled: the digest is of their canonical form, in which an export has them.
type event struct {
	Position                                        int64
	EventId, Data, Metadata, OrganizationId, Schema json.RawMessage
	StreamId, StreamType, SubjectId, Type, Version  json.RawMessage
	EncryptedPersonal                               json.RawMessage
	RecordedAt                                      time.Time
	Digest                                          string
}

func (e event) leaf() []byte {
	body := sha256.Sum256([]byte(fmt.Sprintf(
		`{"data":%s,"eventId":%s,"metadata":%s,"organizationId":%s,"personal":%s,"schema":%s,`+
			`"streamId":%s,"streamType":%s,"subjectId":%s,"type":%s,"version":%s}`,
		e.Data, e.EventId, e.Metadata, e.OrganizationId, e.EncryptedPersonal, e.Schema,
		e.StreamId, e.StreamType, e.SubjectId, e.Type, e.Version)))
	digest := sha256.Sum256(append(body[:], int64Bytes(e.RecordedAt.UnixMilli())...))
	if hex.EncodeToString(digest[:]) != e.Digest {
		log.Fatalf("event %d has not the digest of its content", e.Position)
	}
	return append(int64Bytes(e.Position), digest[:]...)
}

func (c *client) checkInclusion(e event, index int64) {
	var answer struct {
		Data struct {
			Index      int64
			Path       []tlog.Hash
			Checkpoint string
		}
	}
	c.getJSON("/v1/history.get-proof?eventId="+strings.Trim(string(e.EventId), `"`), &answer)
	proof := answer.Data
	if proof.Index != index {
		log.Fatalf("event %d is leaf %d, the proof says %d", e.Position, index, proof.Index)
	}
	tree := c.open(proof.Checkpoint)
	check(tlog.CheckRecord(proof.Path, tree.N, tree.Hash, index, tlog.RecordHash(e.leaf())), "inclusion")
}

func (c *client) export() (events []event) {
	lines := bufio.NewScanner(bytes.NewReader(c.get("/v1/history.export-events")))
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var e event
		check(json.Unmarshal(lines.Bytes(), &e), "the export")
		events = append(events, e)
	}
	check(lines.Err(), "the export")
	return events
}

// The tree that a note tells whose signature holds, with this log as its origin.
func (c *client) open(text string) tlog.Tree {
	signed, err := note.Open([]byte(text), c.verifiers)
	check(err, "the note")
	var tree tlog.Tree
	lines := strings.Split(signed.Text, "\n")
	if lines[0] != "advocacy-api/"+c.organization {
		log.Fatalf("the note is of %s", lines[0])
	}
	_, err = fmt.Sscan(lines[1], &tree.N)
	check(err, "the note's size")
	tree.Hash, err = tlog.ParseHash(lines[2])
	check(err, "the note's root")
	return tree
}

// The leaves of a tree, from the bundles under its tiles: each after its length in two bytes.
func (c *client) leaves(size int64) (leaves [][]byte) {
	for n := int64(0); n*tileWidth < size; n++ {
		width := size - n*tileWidth
		if width > tileWidth {
			width = tileWidth
		}
		for bundle := c.tile("entries", tlog.Tile{H: tileHeight, N: n, W: int(width)}); len(bundle) > 0; {
			length := int(binary.BigEndian.Uint16(bundle))
			leaves = append(leaves, bundle[2:2+length])
			bundle = bundle[2+length:]
		}
	}
	return leaves
}

func (c *client) Height() int { return tileHeight }

func (c *client) ReadTiles(tiles []tlog.Tile) (data [][]byte, err error) {
	for _, tile := range tiles {
		data = append(data, c.tile(fmt.Sprint(tile.L), tile))
	}
	return data, nil
}

func (c *client) SaveTiles([]tlog.Tile, [][]byte) {}

var kept = map[string][]byte{}

// The path of Go's own tiles begins with their height and their level; that of C2SP's with their level, or "entries".
func (c *client) tile(kind string, tile tlog.Tile) []byte {
	number := strings.TrimPrefix(tile.Path(), fmt.Sprintf("tile/%d/%d/", tile.H, tile.L))
	path := "/log/" + c.organization + "/tile/" + kind + "/" + number
	if kept[path] == nil {
		kept[path] = c.get(path)
	}
	return kept[path]
}

func (c *client) getJSON(path string, answer interface{}) {
	check(json.Unmarshal(c.get(path), answer), path)
}

func (c *client) get(path string) []byte {
	request, err := http.NewRequest("GET", c.origin+path, nil)
	check(err, path)
	request.Header.Set("Authorization", "Bearer "+c.apiKey)
	response, err := http.DefaultClient.Do(request)
	check(err, path)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	check(err, path)
	if response.StatusCode != http.StatusOK {
		log.Fatalf("%s: %s: %s", path, response.Status, body)
	}
	return body
}

func int64Bytes(n int64) []byte {
	bytes := make([]byte, 8)
	binary.BigEndian.PutUint64(bytes, uint64(n))
	return bytes
}

func check(err error, what string) {
	if err != nil {
		log.Fatalf("%s: %v", what, err)
	}
}

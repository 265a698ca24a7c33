package submit

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"strconv"

	"github.com/kubespark/kubespark/internal/sparkpod"
)

// ids draws the generated names of one submission. A caller's own submission id replaces chance and clock, so that a
// repeated submission makes the same names and finds what the first one has left.
type ids struct {
	env  Env
	seed string // submission id, or ""
	n    int
	err  error // of the random source
}

func newIDs(env Env, submissionID string) *ids { return &ids{env: env, seed: submissionID} }

func (g *ids) bytes(n int) []byte {
	b := make([]byte, n)
	if g.seed != "" {
		g.n++
		sum := sha256.Sum256([]byte(g.seed + "\x00" + strconv.Itoa(g.n)))
		copy(b, sum[:])
		return b
	}
	if _, err := io.ReadFull(g.env.Random, b); err != nil && g.err == nil {
		g.err = fmt.Errorf("no random numbers for names: %w", err)
	}
	return b
}

// appID is spark- and 32 hexadecimal digits.
func (g *ids) appID() string {
	return "spark-" + hex.EncodeToString(version4(g.bytes(16)))
}

// unique is the part of a name that makes it unique.
func (g *ids) unique() string {
	if g.seed != "" {
		return hex.EncodeToString(g.bytes(8))
	}
	return sparkpod.Unique([3]byte(g.bytes(3)), g.env.Now())
}

// uuid is a random UUID as text.
func (g *ids) uuid() (string, error) {
	b := hex.EncodeToString(version4(g.bytes(16)))
	return b[:8] + "-" + b[8:12] + "-" + b[12:16] + "-" + b[16:20] + "-" + b[20:], g.err
}

// version4 marks 16 random bytes as a random UUID.
func version4(b []byte) []byte {
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	return b
}

package export

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/bits"
	"slices"

	"github.com/google/uuid"

	"github.com/hooklatch/hooklatch/internal/plainjson"
	"github.com/hooklatch/hooklatch/outbox/identity"
)

const (
	// blockSize is the size in bytes, before compression, at which a block of lines ends. A look-up
	// reads one block.
	blockSize = 256 << 10
	// A part ends when its compressed size reaches partSize or its lines reach linesSize, both in
	// bytes: the part is in memory until it is written.
	partSize  = 16 << 20
	linesSize = 64 << 20
	// entriesOfSection is the approximate maximum number of entries in a section of an index. A
	// look-up reads one section of each part.
	entriesOfSection = 2048
	entrySize        = 20
)

// Part describes one part of a day in the manifest.
type Part struct {
	Name       string    `json:"name"`
	Bytes      int64     `json:"bytes"`
	SHA256     string    `json:"sha256"`
	Deliveries int64     `json:"deliveries"`
	Events     int64     `json:"events"`
	Last       uuid.UUID `json:"last"` // the last delivery, in order of ids
	// Index names the file with the index. Its sections have equal ranges of hashes.
	Index    string    `json:"index"`
	Sections []Section `json:"sections"`
}

// Section is a range of an index that is read and checked separately.
type Section struct {
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// names returns the names of the part's files.
func (p Part) names() []string { return []string{p.Name, p.Index} }

// entry is the position of a block with a line that contains or repeats an event.
type entry struct {
	hash   uint64 // hash of the event
	offset uint64 // offset of the block in the part
	length uint32 // length of the block
}

// hashOf returns the hash by which an index identifies an event.
func hashOf(ref identity.EventRef) uint64 {
	sum := sha256.Sum256([]byte(ref.String()))
	return binary.BigEndian.Uint64(sum[:])
}

// partWriter collects the lines of a part.
type partWriter struct {
	part    Part
	data    bytes.Buffer // finished blocks
	block   bytes.Buffer // lines of the next block
	refs    []identity.EventRef
	entries []entry
	lines   int // size of the lines so far, in bytes
}

// add appends a line to the current block, and ends the block if it has reached blockSize.
func (w *partWriter) add(line *Line) error {
	text, err := plainjson.Marshal(line)
	if err != nil {
		return fmt.Errorf("encode delivery: %w", err)
	}
	w.block.Write(text)
	w.block.WriteByte('\n')
	w.lines += len(text)
	w.refs = append(w.refs, line.refs()...)
	w.part.Deliveries, w.part.Events, w.part.Last = w.part.Deliveries+1, w.part.Events+int64(len(line.Events)), line.id
	if w.block.Len() >= blockSize {
		return w.flush()
	}
	return nil
}

// flush compresses the collected lines as one block. Blocks are gzip members, so that common tools
// can read a part.
func (w *partWriter) flush() error {
	if w.block.Len() == 0 {
		return nil
	}
	offset := w.data.Len()
	z := gzip.NewWriter(&w.data)
	if _, err := z.Write(w.block.Bytes()); err != nil {
		return fmt.Errorf("compress: %w", err)
	}
	if err := z.Close(); err != nil {
		return fmt.Errorf("compress: %w", err)
	}
	for _, ref := range w.refs {
		w.entries = append(w.entries, entry{hashOf(ref), uint64(offset), uint32(w.data.Len() - offset)}) //nolint:gosec // the sizes of a part and a block fit
	}
	w.block.Reset()
	w.refs = w.refs[:0]
	return nil
}

// full reports whether the part has reached partSize or linesSize.
func (w *partWriter) full() bool { return w.data.Len() >= partSize || w.lines >= linesSize }

// end gives the part its name, and returns the part with the contents of its files.
func (w *partWriter) end(day string, number int) (part Part, data, index []byte, err error) {
	if err := w.flush(); err != nil {
		return part, nil, nil, err
	}
	part = w.part
	stem := fmt.Sprintf("%s/part-%03d-%s", day, number, nonce())
	part.Name, part.Index = stem+".jsonl.gz", stem+".index"
	part.Bytes, part.SHA256 = int64(w.data.Len()), sumOf(w.data.Bytes())
	index, part.Sections = encodeIndex(w.entries)
	return part, w.data.Bytes(), index, nil
}

// encodeIndex sorts entries by hash, and divides them into sections. The number of sections is a
// power of two, and a hash's first bits are its section's number.
func encodeIndex(entries []entry) (index []byte, sections []Section) {
	slices.SortFunc(entries, func(a, b entry) int { return cmp.Or(cmp.Compare(a.hash, b.hash), cmp.Compare(a.offset, b.offset)) })
	sections = make([]Section, 1<<bits.Len(uint(len(entries)/entriesOfSection)))
	at := 0
	for i := range sections {
		begin := len(index)
		for ; at < len(entries) && sectionOf(entries[at].hash, len(sections)) == i; at++ {
			index = binary.BigEndian.AppendUint64(index, entries[at].hash)
			index = binary.BigEndian.AppendUint64(index, entries[at].offset)
			index = binary.BigEndian.AppendUint32(index, entries[at].length)
		}
		sections[i] = Section{Bytes: int64(len(index) - begin), SHA256: sumOf(index[begin:])}
	}
	return index, sections
}

// sectionOf returns the section of a hash in an index with the given number of sections.
func sectionOf(hash uint64, sections int) int {
	high, _ := bits.Mul64(hash, uint64(sections)) //nolint:gosec // never negative
	return int(high)                              //nolint:gosec // less than sections
}

// decodeEntries reads the entries of a section, or of a whole index.
func decodeEntries(index []byte) []entry {
	var entries []entry
	for one := range slices.Chunk(index, entrySize) {
		if len(one) == entrySize {
			entries = append(entries, entry{binary.BigEndian.Uint64(one), binary.BigEndian.Uint64(one[8:]), binary.BigEndian.Uint32(one[16:])})
		}
	}
	return entries
}

// decodeLines reads the lines of a block, or of a whole part.
func decodeLines(data []byte) ([]*Line, error) {
	var lines []*Line
	err := eachLine(data, func(line *Line) { lines = append(lines, line) })
	return lines, err
}

// eachLine reads the lines of a block, or of a whole part, one after another.
func eachLine(data []byte, f func(*Line)) error {
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return fmt.Errorf("decompress: %w", err)
	}
	for decoder := json.NewDecoder(z); ; {
		line := new(Line)
		if err := decoder.Decode(line); err != nil {
			if isEnd(err) {
				return nil
			}
			return fmt.Errorf("decompress and decode: %w", err)
		}
		f(line)
	}
}

func sumOf(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// nonce returns random text that makes a name unique.
func nonce() string {
	id := uuid.New()
	return hex.EncodeToString(id[:4])
}

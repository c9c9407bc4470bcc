package chaos

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"os"
	"strconv"
	"strings"
	"sync"
)

// Bulk is written down by producers of bulk jobs: those numbered From … To were
// acknowledged.
const Bulk Kind = "bulk"

// BulkID is the id of the n-th bulk job of a producer.
func BulkID(proc string, n int64) string { return "bulk:" + proc + ":" + strconv.FormatInt(n, 10) }

// bulkRun is 16 bytes: the hash of the producer's name, the number, and whether the
// job says that it was begun before.
const bulkRun = 16

// BulkRecorder writes down the runs of bulk jobs.
type BulkRecorder struct {
	mu   sync.Mutex
	file *os.File
}

// NewBulkRecorder writes to the file at path.
func NewBulkRecorder(path string) (*BulkRecorder, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	return &BulkRecorder{file: f}, nil
}

func hash(proc string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(proc))
	return h.Sum64()
}

// Note writes down that the job ran.
func (b *BulkRecorder) Note(id string, again bool) error {
	parts := strings.Split(id, ":")
	if len(parts) != 3 {
		return fmt.Errorf("%q is the id of no bulk job", id)
	}
	n, err := strconv.ParseUint(parts[2], 10, 32)
	if err != nil {
		return err
	}
	var buf [bulkRun]byte
	binary.LittleEndian.PutUint64(buf[:], hash(parts[1]))
	binary.LittleEndian.PutUint32(buf[8:], uint32(n))
	if again {
		buf[12] = 1
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	_, err = b.file.Write(buf[:])
	return err
}

// BulkCount is what became of bulk jobs.
type BulkCount struct {
	Acked, Ran int64
	// Lost were acknowledged and never ran.
	Lost int64
	// Repeated ran more than once after a lost lease or a failed attempt, and
	// Doubled without one.
	Repeated, Doubled int64
}

// CountBulk compares acknowledged ranges with the runs in the files at paths.
func CountBulk(events []Event, paths []string) (BulkCount, error) {
	type tally struct{ runs, first []uint8 } // by number
	ran := map[uint64]*tally{}
	var c BulkCount
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			return c, err
		}
		for ; len(data) >= bulkRun; data = data[bulkRun:] {
			proc, n := binary.LittleEndian.Uint64(data), binary.LittleEndian.Uint32(data[8:])
			t := ran[proc]
			if t == nil {
				t = &tally{}
				ran[proc] = t
			}
			for uint32(len(t.runs)) <= n {
				t.runs, t.first = append(t.runs, 0), append(t.first, 0)
			}
			c.Ran++
			t.runs[n]++
			if data[12] == 0 {
				t.first[n]++
			}
		}
	}
	for _, t := range ran {
		for n, times := range t.runs {
			if times > 1 {
				c.Repeated += int64(times) - 1
			}
			if first := t.first[n]; first > 1 {
				c.Doubled += int64(first) - 1
			}
		}
	}
	c.Repeated -= c.Doubled
	for _, e := range events {
		if e.Kind != Bulk {
			continue
		}
		t := ran[hash(e.Proc)]
		for n := e.From; n <= e.To; n++ {
			c.Acked++
			if t == nil || n >= int64(len(t.runs)) || t.runs[n] == 0 {
				c.Lost++
			}
		}
	}
	return c, nil
}

// Package chaos judges what a run of bide under faults has done. Its history is what
// producers, handlers and the harness wrote down outside of Redis; Check is a pure
// function of it. The harness itself is in cmd.
package chaos

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"time"
)

// Kind is what an event tells.
type Kind string

// What producers write down.
const (
	Sent      Kind = "sent"      // a job is about to be created: ID, Queue, Due, Kept
	Acked     Kind = "acked"     // it was acknowledged: ID, Due as answered
	Unknown   Kind = "unknown"   // it may have been created
	Refused   Kind = "refused"   // it was not
	Bad       Kind = "bad"       // something was tried that is no job: What
	Asked     Kind = "asked"     // it is about to be cancelled
	Cancelled Kind = "cancelled" // a cancel was acknowledged: ID, State
)

// What workers write down. Run tells one attempt from all others.
const (
	Started Kind = "started" // a handler began: ID, Run, Attempt, Lost
	Ended   Kind = "ended"   // it returned: ID, Run, Err, Why its context had ended
	Context Kind = "context" // its context ended: ID, Run, Why
	Settled Kind = "settled" // Redis took the outcome: ID, Run, State ("" if the lease was gone), Pause
)

// What the harness writes down.
const (
	Born       Kind = "born"       // a process was started: Proc
	Killed     Kind = "killed"     // SIGKILL: Proc
	Termed     Kind = "termed"     // SIGTERM: Proc
	Stopped    Kind = "stopped"    // SIGSTOP: Proc
	Continued  Kind = "continued"  // SIGCONT: Proc
	Exited     Kind = "exited"     // it is gone: Proc, Code
	Fault      Kind = "fault"      // any other fault: What, Proc, and To where it lasted
	Down       Kind = "down"       // Redis does not answer any more: What
	Up         Kind = "up"         // it does, or another one instead: What
	Loss       Kind = "loss"       // Redis may have lost what was written From … To
	Audited    Kind = "audited"    // a sample of the audit: Gap
	Memory     Kind = "memory"     // resident bytes: Proc, N
	Goroutines Kind = "goroutines" // at the end, with nothing to do: Proc, N
	Final      Kind = "final"      // a job at the end: ID, State ("" if there is none), Attempts, Lost
	Ticks      Kind = "ticks"      // a schedule: What, its policy State, its ticks From … To every Pause, N counted as missed or skipped
	Replaced   Kind = "replaced"   // a tick's record says that its run has made room: ID
	Stalled    Kind = "stalled"    // the harness itself was woken N ns late: the machine is busy
	Total      Kind = "total"      // at the end: N jobs created
	Stuck      Kind = "stuck"      // what did not come to rest in time: What
)

// Event is one thing that happened. Times are unix ns, Due and Pause ms.
type Event struct {
	At       int64  `json:"t"`
	Kind     Kind   `json:"k"`
	Proc     string `json:"p,omitempty"`
	ID       string `json:"id,omitempty"`
	Run      string `json:"r,omitempty"`
	Queue    string `json:"q,omitempty"`
	State    string `json:"s,omitempty"`
	What     string `json:"w,omitempty"`
	Why      string `json:"y,omitempty"`
	Err      string `json:"e,omitempty"`
	Due      int64  `json:"d,omitempty"`
	Pause    int64  `json:"u,omitempty"`
	From     int64  `json:"from,omitempty"`
	To       int64  `json:"to,omitempty"`
	N        int64  `json:"n,omitempty"`
	Attempt  int    `json:"a,omitempty"` // attempts begun, or failed in Final
	Lost     int    `json:"l,omitempty"`
	Gap      int64  `json:"g,omitempty"`
	Code     int    `json:"c,omitempty"`
	Kept     bool   `json:"kept,omitempty"` // it has a retention that outlasts the run
	Repeated bool   `json:"again,omitempty"`
}

func (e Event) String() string {
	data, _ := json.Marshal(e)
	return time.Unix(0, e.At).UTC().Format("15:04:05.000000 ") + string(data)
}

// Recorder appends events to a file, each in one write: what a process has written
// outlives its SIGKILL.
type Recorder struct {
	mu   sync.Mutex
	file *os.File
	proc string
}

// NewRecorder writes as proc to the file at path.
func NewRecorder(path, proc string) (*Recorder, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	return &Recorder{file: f, proc: proc}, nil
}

// Note writes e down, with the time if it has none.
func (r *Recorder) Note(e Event) {
	if e.At == 0 {
		e.At = time.Now().UnixNano()
	}
	if e.Proc == "" {
		e.Proc = r.proc
	}
	data, _ := json.Marshal(e)
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, err := r.file.Write(append(data, '\n')); err != nil {
		panic(err) // a history with holes proves nothing
	}
}

// Read reads a file of events. A last line that was cut off is left out.
func Read(path string) ([]Event, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var events []Event
	in := bufio.NewReader(f)
	for {
		line, err := in.ReadBytes('\n')
		if err == io.EOF {
			return events, nil
		}
		if err != nil {
			return nil, err
		}
		var e Event
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, fmt.Errorf("%s: %q: %w", path, line, err)
		}
		events = append(events, e)
	}
}

// Sort puts events in the order of their times.
func Sort(events []Event) {
	slices.SortStableFunc(events, func(a, b Event) int {
		switch {
		case a.At < b.At:
			return -1
		case a.At > b.At:
			return 1
		}
		return 0
	})
}

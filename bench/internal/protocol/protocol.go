// Package protocol is what the runner and the adapters of the systems say to each
// other: JSON, one object a line, on the adapter's standard input and output.
//
//	runner  → Spec
//	adapter → {"event":"ready"}      connected and warm; nothing is being measured yet
//	runner  → {"go":true}
//	adapter → {"event":"result", …}  or {"event":"error","text":…}, at any time
//	runner closes the input; the adapter ends
//
// Between ready and result the runner reads what CPU and commands it took.
package protocol

import "encoding/json"

// Modes of an adapter.
const (
	Enqueue   = "enqueue"   // make jobs
	Work      = "work"      // run a worker until all jobs are settled
	Roundtrip = "roundtrip" // one job at a time, enqueued and run in one process
	Idle      = "idle"      // run a worker that has nothing to do
	Promote   = "promote"   // move due jobs to their lanes, without workers; bide only
)

// Events of an adapter.
const (
	Ready  = "ready"
	Failed = "error"
	Done   = "result"
)

// Spec says what one process of an adapter is to do.
type Spec struct {
	Mode string `json:"mode"`
	Host string `json:"host"`
	Port int    `json:"port"`
	// Jobs is how many are made, or expected to run.
	Jobs int `json:"jobs"`
	// Warm is how many further jobs are made before anything is measured.
	Warm int `json:"warm"`
	// Producers work side by side; at least one.
	Producers int `json:"producers"`
	// Batch is how many jobs go into one call of the bulk API; 0 means one by one.
	Batch int `json:"batch"`
	// DueMs is when the first job is due, in unix milliseconds; 0 means at once.
	// The others follow evenly over OverMs.
	DueMs  int64 `json:"dueMs"`
	OverMs int64 `json:"overMs"`
	// Concurrency is how many handlers run at a time.
	Concurrency int `json:"concurrency"`
	// PollMs sets the intervals at which a system that polls does so; 0 leaves its
	// defaults.
	PollMs int `json:"pollMs"`
	// LimitMs ends a measurement that does not end by itself.
	LimitMs int64 `json:"limitMs"`
	// SettleMs is how long an idle worker is left alone before it counts as idle, and
	// Least how many round trips are made even beyond LimitMs.
	SettleMs int64 `json:"settleMs"`
	Least    int   `json:"least"`
	// Lateness asks for the lateness of every start.
	Lateness bool `json:"lateness"`
	// Leave is how many delayed jobs are none of this measurement's.
	Leave int `json:"leave"`
}

// Due is when job i is due, in unix milliseconds; 0 means at once.
func (s Spec) Due(i int) int64 {
	if s.DueMs == 0 || s.Jobs == 0 {
		return s.DueMs
	}
	return s.DueMs + int64(i)*s.OverMs/int64(s.Jobs)
}

// Counts is what the system says of its own jobs.
type Counts struct {
	Delayed int `json:"delayed"`
	Waiting int `json:"waiting"`
	Active  int `json:"active"`
	Failed  int `json:"failed"`
}

// Open is how many jobs are not settled.
func (c Counts) Open() int { return c.Delayed + c.Waiting + c.Active }

// Result is what came of a Spec.
type Result struct {
	// Seconds from go until the end: the last job made, or settled.
	Seconds float64 `json:"seconds"`
	// Started is how many times the handler began.
	Started int `json:"started"`
	// Doubled is how many of these were repetitions; counted with Lateness only.
	Doubled int `json:"doubled"`
	// EndUs is the instant of the end, in unix microseconds.
	EndUs int64 `json:"endUs"`
	// Micros is one value a job, in microseconds: the lateness (negative if early),
	// or how long the round trip took.
	Micros []int64 `json:"micros,omitempty"`
	Counts Counts  `json:"counts"`
}

// Message is what an adapter says.
type Message struct {
	Event  string  `json:"event"`
	Text   string  `json:"text,omitempty"`
	Result *Result `json:"result,omitempty"`
}

// Payload is the args of a job, as an app has them: about 110 bytes of JSON, the same
// for every system, which gets it as its API asks.
type Payload struct {
	Seq     int    `json:"seq"`
	Due     int64  `json:"due"`
	To      string `json:"to"`
	Subject string `json:"subject"`
	Order   string `json:"order"`
}

// NewPayload is the args of job i.
func NewPayload(i int, dueMs int64) Payload {
	return Payload{Seq: i, Due: dueMs, To: "ana@example.com", Subject: "Your order has shipped", Order: "A-2044718"}
}

// Parse reads number and due time from a payload.
func Parse(b []byte) (seq int, dueMs int64, err error) {
	var p Payload
	err = json.Unmarshal(b, &p)
	return p.Seq, p.Due, err
}

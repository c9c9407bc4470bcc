package runner

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/jedib0t/go-pretty/v6/progress"
	"github.com/mattn/go-isatty"
)

// Progress tells a person how far it is. Its methods may be called side by side.
type Progress interface {
	Start(total int)
	Turn(what string)
	Done()
	Note(text string)
	Stop()
}

// NewProgress is a bar on a terminal and plain lines elsewhere.
func NewProgress(w *os.File) Progress {
	if !isatty.IsTerminal(w.Fd()) {
		return &lines{w: w}
	}
	return &bar{w: w}
}

type lines struct {
	w    io.Writer
	left int
	mu   sync.Mutex
	n    int
}

func (l *lines) Start(total int) { l.left = total }
func (l *lines) Turn(what string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.n++
	fmt.Fprintf(l.w, "%d/%d %s\n", l.n, l.left, what)
}
func (l *lines) Done() {}
func (l *lines) Note(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	fmt.Fprintf(l.w, "  %s\n", text)
}
func (l *lines) Stop() {}

type bar struct {
	w       *os.File
	writer  progress.Writer
	tracker *progress.Tracker
	done    chan struct{}
}

func (b *bar) Start(total int) {
	b.writer = progress.NewWriter()
	b.writer.SetOutputWriter(b.w)
	b.writer.SetMessageLength(56)
	b.writer.SetTrackerLength(24)
	b.writer.SetTrackerPosition(progress.PositionRight)
	b.writer.SetUpdateFrequency(500 * time.Millisecond) // drawing uses the CPU that is measured
	b.writer.Style().Visibility.ETA = true
	b.tracker = &progress.Tracker{Total: int64(total)}
	b.writer.AppendTracker(b.tracker)
	b.done = make(chan struct{})
	go func() {
		defer close(b.done)
		b.writer.Render()
	}()
}

func (b *bar) Turn(what string) { b.tracker.UpdateMessage(what) }
func (b *bar) Done()            { b.tracker.Increment(1) }
func (b *bar) Note(text string) { b.writer.Log("%s", text) }

func (b *bar) Stop() {
	b.writer.Stop()
	<-b.done
}

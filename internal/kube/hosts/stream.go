package hosts

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/klog/v2"
)

const (
	// openTimeout bounds the wait for a watch to begin; the API server answers at once,
	// also when nothing happens.
	openTimeout = 30 * time.Second
	// watchSlack is how long after the end that we asked for a watch is ended by us: its
	// connection may be dead.
	watchSlack = 30 * time.Second
	// watchTimeout is how long a watch is where the Reflector does not say.
	watchTimeout = 5 * time.Minute
)

// watch opens a watch. It ends when the server ends it, after the time that the options
// say, when it says nothing for too long, or when it is stopped.
func (w *watcher) watch(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
	if w.pulse.due() {
		return nil, errDue
	}
	seconds := int64(watchTimeout / time.Second)
	if o.TimeoutSeconds != nil {
		seconds = *o.TimeoutSeconds
	}
	watching, cancel := context.WithTimeout(ctx, time.Duration(seconds)*time.Second+watchSlack)
	begun := time.Now()
	late := time.AfterFunc(openTimeout, cancel)
	stream, err := w.request().
		Param("watch", "true").
		Param("allowWatchBookmarks", "true"). // so that a quiet watch can go on where it was
		Param("resourceVersion", o.ResourceVersion).
		Param("timeoutSeconds", strconv.FormatInt(seconds, 10)).
		Stream(watching)
	inTime := late.Stop()
	if err == nil && !inTime {
		_ = stream.Close()
		err = context.DeadlineExceeded
	}
	if err != nil {
		cancel()
		if !inTime {
			err = fmt.Errorf("the watch of BareMetalHosts did not begin within %v: %w", openTimeout, err)
		}
		if ctx.Err() == nil {
			w.health.fails(err)
		}
		return nil, err
	}
	w.health.opened()
	in := newBody(stream)
	events := &events{watcher: w, in: in, dec: jsontext.NewDecoder(in, lenient...), parser: newParser(), run: ctx, cancel: cancel, begun: begun}
	events.silence = time.AfterFunc(maxSilence, events.endSilent)
	events.steady = time.AfterFunc(steadyAfter, w.steady)
	report := apierrors.NewClientErrorReporter(http.StatusInternalServerError, http.MethodGet, "WatchOfBareMetalHosts")
	return watch.NewStreamWatcherWithLogger(klog.FromContext(ctx), events, report), nil
}

// events reads the events of a watch; it is a watch.Decoder.
type events struct {
	watcher *watcher
	in      *body
	dec     *jsontext.Decoder
	parser  *parser
	raw     []byte          // the object of the event at hand; the room is used again
	run     context.Context // that of the watcher
	cancel  context.CancelFunc

	begun   time.Time
	heard   bool        // anything came
	silence *time.Timer // until it is ended for its silence
	silent  atomic.Bool // it was
	steady  *time.Timer // until it has lasted
	closed  atomic.Bool // by us
}

func (e *events) endSilent() {
	e.silent.Store(true)
	e.cancel()
}

// Close ends the watch; a Decode that waits returns.
func (e *events) Close() {
	e.closed.Store(true)
	e.silence.Stop()
	e.steady.Stop()
	e.cancel()
	_ = e.in.Close()
}

// Decode returns the next event. Its error is io.EOF where the connection came to its end,
// in whichever way: the watch goes on with the next one from where it was. Any other error
// is about what the server has sent.
func (e *events) Decode() (watch.EventType, runtime.Object, error) {
	kind, o, err := e.next()
	switch {
	case err == nil:
		e.heard = true
		if !e.closed.Load() {
			e.silence.Reset(maxSilence)
		}
		return kind, o, nil
	case e.in.broken != nil, errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		e.ended()
		return "", nil, io.EOF
	}
	err = fmt.Errorf("watch of BareMetalHosts: %w", err)
	e.watcher.health.failsInside(err)
	return "", nil, err
}

// ended notes how a watch came to its end.
func (e *events) ended() {
	w := e.watcher
	switch {
	case e.closed.Load(), e.run.Err() != nil:
	case e.silent.Load():
		if w.pulse.isSilent() {
			w.health.failsInside(errSilent)
		}
	case !e.heard && time.Since(e.begun) < shortWatch:
		if w.pulse.endsAtOnce() {
			w.health.failsInside(errShort)
		}
	}
}

// steady notes that a watch has lasted.
func (w *watcher) steady() {
	w.pulse.lasts()
	w.health.mends(errShort)
}

func (e *events) next() (watch.EventType, runtime.Object, error) {
	e.in.part()
	var kind string
	e.raw = e.raw[:0]
	err := eachField(e.dec, func(name []byte) error {
		isType, isObject := string(name) == "type", string(name) == "object"
		value, err := e.dec.ReadValue()
		switch {
		case err != nil:
			return err
		case isObject:
			e.raw = append(e.raw[:0], value...)
		case isType:
			kind = string(bytes.Trim(value, `"`))
		}
		return nil
	})
	if err != nil {
		return "", nil, err
	}
	if len(e.raw) == 0 {
		return "", nil, errors.New("an event without an object")
	}
	switch t := watch.EventType(kind); t {
	case watch.Added, watch.Modified, watch.Deleted, watch.Bookmark:
		o, err := e.parser.read(e.raw)
		if err == nil {
			e.watcher.pulse.beats(t == watch.Bookmark)
			e.watcher.health.reads()
		}
		return t, o, err
	case watch.Error:
		status := new(metav1.Status)
		if err := json.Unmarshal(e.raw, status); err != nil {
			return "", nil, fmt.Errorf("an error event: %w", err)
		}
		e.watcher.health.failsInside(apierrors.FromObject(status))
		return t, status, nil
	}
	return "", nil, fmt.Errorf("an event of the unknown type %q", short(kind))
}

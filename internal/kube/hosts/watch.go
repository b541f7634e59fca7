package hosts

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	kjson "sigs.k8s.io/json"
)

const (
	// openTimeout bounds the wait for a watch to begin; the API server answers at once,
	// also when nothing happens.
	openTimeout = 30 * time.Second
	// watchTimeout is how long a watch is at least, and at most twice: its end is asked for.
	watchTimeout = 5 * time.Minute
)

// watch shows what happens from a version on, until the server ends the watch, or says
// nothing for too long. It returns the version to go on from, "" where a list is needed
// first, and an error where there is to be a pause first.
func (w *watcher) watch(ctx context.Context, version string) (string, error) {
	watching, cancel := context.WithCancel(ctx)
	defer cancel()
	silence := time.AfterFunc(openTimeout, cancel)
	defer silence.Stop()
	body, err := w.request().
		Param("watch", "true").
		Param("allowWatchBookmarks", "true"). // so that a quiet watch can go on where it was
		Param("resourceVersion", version).
		Param("timeoutSeconds", strconv.FormatInt(int64(wait.Jitter(watchTimeout, 1)/time.Second), 10)).
		Stream(watching)
	if err != nil {
		if watching.Err() != nil {
			err = fmt.Errorf("the watch of BareMetalHosts did not begin within %v: %w", openTimeout, err)
		}
		if ctx.Err() == nil {
			w.health.fails(err, false)
		}
		if utilnet.IsConnectionRefused(err) || apierrors.IsTooManyRequests(err) {
			return version, err // a list would only add to the server's load
		}
		return "", err
	}
	defer body.Close()
	silence.Reset(maxSilence)
	steady := time.AfterFunc(shortWatch, w.health.lasts)
	defer steady.Stop()

	events, heard := newStream(body), false
	for {
		next, err := w.next(events)
		switch {
		case err == nil:
			version, heard = cmp.Or(next, version), true
			silence.Reset(maxSilence)
		case ctx.Err() != nil:
			return "", err
		case !events.ended(err):
			w.health.fails(fmt.Errorf("watch of BareMetalHosts: %w", err), true)
			return "", err
		case watching.Err() != nil:
			w.health.ended(errSilent)
			return version, nil
		case !heard && steady.Stop():
			w.health.ended(errShort)
			return "", errShort
		default:
			return version, nil
		}
	}
}

// next shows what the next event tells and returns its version.
func (w *watcher) next(events *stream) (version string, err error) {
	var e struct {
		Type   watch.EventType `json:"type"`
		Object json.RawMessage `json:"object"`
	}
	if err := events.Decode(&e); err != nil {
		return "", err
	}
	if len(e.Object) == 0 {
		return "", errors.New("an event without an object")
	}
	switch e.Type {
	case watch.Added, watch.Modified, watch.Deleted, watch.Bookmark:
	case watch.Error:
		var status metav1.Status
		if err := json.Unmarshal(e.Object, &status); err != nil {
			return "", fmt.Errorf("an error event: %w", err)
		}
		return "", apierrors.FromObject(&status)
	default:
		return "", fmt.Errorf("an event of the unknown type %q", short(string(e.Type)))
	}
	o, err := decodeObject(func(into any) error { return kjson.UnmarshalCaseSensitivePreserveInts(e.Object, into) })
	if err != nil {
		return "", err
	}
	w.health.heard(e.Type == watch.Bookmark)
	switch e.Type {
	case watch.Added, watch.Modified:
		w.show(o)
	case watch.Deleted:
		if w.reads(o) {
			w.dir.set(o.key(), nil, w.lists)
		}
	}
	return o.version, nil
}

package main

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/cli"
	"github.com/ironic-throttle/ironic-throttle/internal/statusview"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

func TestWatchGoesOnWithoutAThrottle(t *testing.T) {
	away := errors.New("away")
	for _, row := range []struct {
		answers []error // one per second; the last one for ever
		shown   int
		errors  int
		end     error
	}{
		{[]error{nil}, 6, 0, nil},
		{[]error{away, away, nil}, 4, 1, nil},
		{[]error{nil, away, nil, away}, 2, 2, away},
	} {
		synctest.Test(t, func(t *testing.T) {
			var out, errs bytes.Buffer
			p := &process{&cli.Process{Stdout: &out, Stderr: &errs}}
			ctx, cancel := context.WithTimeout(t.Context(), 5500*time.Millisecond)
			defer cancel()
			asked := 0
			view := statusView{process: p, interval: time.Second}
			err := view.repeat(ctx, func(context.Context) (statusview.Content, error) {
				err := row.answers[min(asked, len(row.answers)-1)]
				asked++
				return statusview.Content{Status: api.Status{Headline: "v1"}}, err
			})
			if !errors.Is(err, row.end) {
				t.Errorf("%v: error %v, want %v", row.answers, err, row.end)
			}
			if n := strings.Count(out.String(), "v1\nslots"); n != row.shown {
				t.Errorf("%v: shown %d times, want %d", row.answers, n, row.shown)
			}
			if n := strings.Count(errs.String(), "error: away"); n != row.errors {
				t.Errorf("%v: complained %d times, want %d", row.answers, n, row.errors)
			}
		})
	}
}

func TestOutputThatNobodyTakesIsAnError(t *testing.T) {
	p := &cli.Process{Stdout: brokenPipe{}, Stderr: &bytes.Buffer{}}
	for _, args := range [][]string{{"version"}, {"version", "-o", "json"}} {
		if code := p.Execute(t.Context(), root(p), args); code != cli.No {
			t.Errorf("%v: exit code %d, want %d", args, code, cli.No)
		}
	}
}

type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }

package fakebmo

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestQueue: a key is never handed out twice at once, never waits twice, and
// comes back after its work when it was added meanwhile.
func TestQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue()
		q.add("a")
		q.add("a")
		q.add("b")
		take := func(want string) {
			t.Helper()
			if got, ok := q.get(); !ok || got != want {
				t.Fatalf("got %q %t, want %q", got, ok, want)
			}
		}
		take("a")
		q.add("a") // while it is worked on
		take("b")
		if len(q.order) != 0 {
			t.Errorf("a waits although it is worked on: %v", q.order)
		}
		q.done("b")
		q.done("a")
		take("a")
		q.done("a")

		q.addAfter("c", time.Hour)
		q.addAfter("c", time.Minute) // the earlier one counts
		q.addAfter("c", 2*time.Hour)
		begin := time.Now()
		take("c")
		if d := time.Since(begin); d != time.Minute {
			t.Errorf("c came after %s", d)
		}
		q.done("c")
		q.addAfter("d", 0)
		take("d")
		for n := range 3 {
			if got := q.failed("d"); got != n {
				t.Errorf("%d errors in a row, want %d", got, n)
			}
		}
		q.forget("d")
		if got := q.failed("d"); got != 0 {
			t.Errorf("%d errors in a row after forget", got)
		}

		ended := make(chan bool)
		go func() { _, ok := q.get(); ended <- ok }()
		synctest.Wait()
		q.addAfter("e", time.Second)
		q.close()
		q.close()
		q.add("f")
		q.addAfter("g", time.Second)
		if <-ended {
			t.Error("a closed queue hands out")
		}
		if q.done("d"); len(q.later) != 0 || len(q.order) != 0 {
			t.Errorf("a closed queue keeps %v, %v", q.later, q.order)
		}
	})
}

func TestOptions(t *testing.T) {
	client, err := NewClient("http://127.0.0.1:6385", http.DefaultTransport)
	if err != nil {
		t.Fatal(err)
	}
	good := func() Options {
		return Options{Hosts: []Host{{Namespace: "a", Name: "b"}}, Workers: 1, Ironic: client,
			Capacity: BuiltIn(client, 1), Timings: DefaultTimings(), Speed: 1}
	}
	for _, c := range []struct {
		name   string
		change func(*Options)
		want   string // "" is no error
	}{
		{"good", func(*Options) {}, ""},
		{"workers", func(o *Options) { o.Workers = 0 }, "workers 0: want >= 1"},
		{"speed", func(o *Options) { o.Speed = 0 }, "speed 0: want > 0"},
		{"ironic", func(o *Options) { o.Ironic = nil }, "ironic"},
		{"capacity", func(o *Options) { o.Capacity = nil }, "capacity"},
		{"retries", func(o *Options) { o.MaxProvisioningRetries = -1 }, "max provisioning retries -1"},
		{"delayed", func(o *Options) { o.Timings.Delayed.Min = 0 }, "delayed 0s-2m0s"},
		{"poll", func(o *Options) { o.Timings.Poll = 0 }, "poll 0s"},
		{"back-off", func(o *Options) { o.Timings.BackoffMax = 0 }, "backoff base 5ms"},
		{"twice", func(o *Options) { o.Hosts = append(o.Hosts, o.Hosts[0]) }, `host "a~b": want each once`},
		{"no name", func(o *Options) { o.Hosts[0].Name = "" }, `host "a~": want a namespace and a name`},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := good()
			c.change(&o)
			_, err := New(o)
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
	for _, base := range []string{"", "ironic:6385", "ftp://ironic", "http://"} {
		if _, err := NewClient(base, nil); err == nil || !strings.Contains(err.Error(), `"`+base+`"`) {
			t.Errorf("NewClient(%q): %v", base, err)
		}
	}
}

// TestSpeed: the same storm at another speed is the same storm, faster.
func TestSpeed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newStage(t, setup{hosts: 1, change: func(o *Options) { o.Speed = 10 }})
		if got := st.op.scaled(st.op.opt.Timings.Poll); got != time.Second {
			t.Errorf("poll every %s", got)
		}
	})
}

func TestFaultstring(t *testing.T) {
	for in, want := range map[string]string{
		`{"error_message": "{\"faultcode\": \"Client\", \"faultstring\": \"locked\"}"}`: "locked",
		`{"error_message": "no json"}`: `{"error_message": "no json"}`,
		"":                             "",
		strings.Repeat("x", 300):       strings.Repeat("x", 200),
	} {
		if got := faultstring([]byte(in)); got != want {
			t.Errorf("%q: %q", in, got)
		}
	}
}

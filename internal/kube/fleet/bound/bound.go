// Package bound bounds what is read of the API server's answers: client-go reads them as a whole.
package bound

import (
	"net/http"

	"k8s.io/client-go/rest"
)

// Answers lets the clients of c read at most so many bytes of an answer; a longer one is an error.
func Answers(c *rest.Config, most int64) { wrap(c, most, false) }

// Errors bounds the answers that are no success alone, for clients that watch or read page by page.
func Errors(c *rest.Config, most int64) { wrap(c, most, true) }

func wrap(c *rest.Config, most int64, errors bool) {
	c.Wrap(func(next http.RoundTripper) http.RoundTripper { return bounded{next, most, errors} })
}

type bounded struct {
	next   http.RoundTripper
	most   int64
	errors bool // alone
}

func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := b.next.RoundTrip(r)
	if err == nil && !(b.errors && answer.StatusCode == http.StatusOK) {
		answer.Body = http.MaxBytesReader(nil, answer.Body, b.most)
	}
	return answer, err
}

package access

import (
	"context"
	"fmt"
	"slices"
	"strings"

	authentication "k8s.io/api/authentication/v1"
	authorization "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	authenticationv1 "k8s.io/client-go/kubernetes/typed/authentication/v1"
	authorizationv1 "k8s.io/client-go/kubernetes/typed/authorization/v1"
)

// reviewer asks the API server, each time.
type reviewer struct {
	tokens    authenticationv1.TokenReviewInterface
	rights    authorizationv1.SubjectAccessReviewInterface
	audiences []string
}

// who returns the holder of token, nil where it is nobody's. The API server gives
// reasons for that which are not told on: one may quote the token.
func (r reviewer) who(ctx context.Context, token string) (*authentication.UserInfo, error) {
	answer, err := r.tokens.Create(ctx, &authentication.TokenReview{
		Spec: authentication.TokenReviewSpec{Token: token, Audiences: r.audiences},
	}, metav1.CreateOptions{})
	if err != nil {
		return nil, fmt.Errorf("TokenReview: %w", err)
	}
	status := answer.Status
	if !status.Authenticated || status.User.Username == "" || !r.meant(status.Audiences) {
		return nil, nil
	}
	return &status.User, nil
}

// meant reports whether a token that is good for audiences is meant for us. An API
// server that does not know audiences returns none.
func (r reviewer) meant(audiences []string) bool {
	return len(r.audiences) == 0 || slices.ContainsFunc(audiences, func(a string) bool { return slices.Contains(r.audiences, a) })
}

// may reports whether u may do verb on path.
func (r reviewer) may(ctx context.Context, u authentication.UserInfo, path, verb string) (bool, error) {
	extra := map[string]authorization.ExtraValue{}
	for name, values := range u.Extra {
		extra[name] = authorization.ExtraValue(values)
	}
	answer, err := r.rights.Create(ctx, &authorization.SubjectAccessReview{
		Spec: authorization.SubjectAccessReviewSpec{
			User: u.Username, UID: u.UID, Groups: u.Groups, Extra: extra,
			NonResourceAttributes: &authorization.NonResourceAttributes{Path: path, Verb: verb},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		return false, fmt.Errorf("SubjectAccessReview: %w", err)
	}
	return answer.Status.Allowed && !answer.Status.Denied, nil
}

// wellFormed reports whether a token has the form that RFC 6750, section 2.1, gives it.
func wellFormed(token string) bool {
	body := strings.TrimRight(token, "=")
	return body != "" && len(token) <= maxToken && !strings.ContainsFunc(body, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("-._~+/", r)
	})
}

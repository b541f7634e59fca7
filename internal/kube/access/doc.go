// Package access asks a Kubernetes API server who the holder of a bearer token is and
// what they may do, so that rights to our HTTP API are given by RBAC like any others.
//
//	token ──> TokenReview ─────────> user, groups        (401 where there is none)
//	user, verb, path ──> SubjectAccessReview ──> allowed (403 where not)
//
// Rights are those of non-resource URLs: the verb is the HTTP method in lower case,
// the path that of the URL. Answers are kept for a while, within bounds; tokens are
// kept as their SHA-256 only and never logged. Whatever cannot be found out is an
// error and not a yes. Client certificates are not looked at: a token is the only way
// to say who one is.
package access

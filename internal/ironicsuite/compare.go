package ironicsuite

import "github.com/google/go-cmp/cmp"

func (x *tester) same(what string, got, want any) {
	x.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		x.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

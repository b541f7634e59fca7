package secret

import (
	"strings"
	"testing"
)

func TestSecretsAreHiddenAndOtherWordsStay(t *testing.T) {
	for _, row := range []struct{ text, secret, want string }{
		{"Incorrect username or password", "pass", "Incorrect username or password"},
		{"you sent admin:pass", "pass", "you sent admin:xxxxx"},
		{"pass, pass and password=pass", "pass", "xxxxx, xxxxx and password=xxxxx"},
		{"pass1 is no pass_", "pass", "pass1 is no xxxxx_"},
		{"prefixhunter2000suffix", "hunter2000", "prefixxxxxxsuffix"},
		{"http://admin!pass!@ironic", "!pass!", "http://adminxxxxx@ironic"},
		{"größe and ß", "ß", "größe and xxxxx"},
		{"nothing is secret", "", "nothing is secret"},
	} {
		if got := Hide(row.text, row.secret); got != row.want {
			t.Errorf("%q in %q: %q, want %q", row.secret, row.text, got, row.want)
		}
	}
	if got := Hide("Basic YWRtaW46cGFzcw== is pass", "YWRtaW46cGFzcw==", "pass"); got != "Basic xxxxx is xxxxx" {
		t.Errorf("two secrets: %q", got)
	}
}

// A secret between two characters that belong to no word is never shown.
func FuzzHide(f *testing.F) {
	f.Add("user:", "pass", " password", true)
	f.Add("pass", "hunter2000", "x", false)
	f.Fuzz(func(t *testing.T, before, secret, after string, apart bool) {
		if strings.Trim(secret, "x") == "" || len(secret) < long && !apart {
			return // it is like what stands for it, or may be a part of another word
		}
		if apart {
			before, after = before+"<", ">"+after
		}
		hidden := Hide(before+secret+after, secret)
		if strings.Contains(hidden, "<"+secret+">") || len(secret) >= long && strings.Contains(strings.ReplaceAll(hidden, "xxxxx", "\x00"), secret) {
			t.Errorf("%q in %q: %q", secret, before+secret+after, hidden)
		}
	})
}

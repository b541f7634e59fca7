package httpserve

import (
	"crypto/x509"
	"log/slog"
	"strings"
	"testing"
	"time"
)

// Whoever is responsible learns of a certificate that is not renewed before clients do.
func TestACertificateThatEndsIsTold(t *testing.T) {
	dir := t.TempDir()
	cert, key := certify(t, dir, "gateway", 1) // for two hours, one of which is over
	end := time.Now().Add(time.Hour)
	for _, row := range []struct {
		left  time.Duration
		fault string
	}{
		{31 * time.Minute, ""},
		{29 * time.Minute, "and was not renewed"},
		{time.Minute, "and was not renewed"},
		{-time.Minute, "has expired at"},
	} {
		var log strings.Builder
		files := certificates(cert, key, "", slog.New(slog.NewTextHandler(&log, nil)))
		left := row.left
		files.Now = func() time.Time { return end.Add(-left) }
		inUse, err := files.Open()
		if err != nil {
			t.Fatal(err)
		}
		for round := 1; round <= 3; round++ {
			if got := inUse.Fault(); !strings.Contains(got, row.fault) || (got == "") != (row.fault == "") || row.fault != "" && !strings.Contains(got, "IRONIC_THROTTLE_GATEWAY_TLS_CERT_FILE") {
				t.Errorf("%v left: %q, want %q", row.left, got, row.fault)
			}
			want := round
			if row.fault == "" {
				want = 0
			}
			if n := strings.Count(log.String(), "level=WARN"); n != want {
				t.Errorf("%v left: %d warnings after %d reads:\n%s", row.left, n, round, &log)
			}
			age(t, cert, round+int(row.left/time.Minute)*10) // read again at the next look
			inUse.NotAfter()
			inUse.NotAfter()
		}
		if row.fault == "" {
			continue
		}
		left = time.Hour
		if got := inUse.Fault(); got != "" {
			t.Errorf("renewed: %q", got)
		}
	}
	if inUse, err := (Certificates{}).Open(); err != nil || inUse.Fault() != "" || !inUse.NotAfter().IsZero() {
		t.Errorf("without TLS: %v", err)
	}
}

// A week before is early enough, and no certificate of days is late all its life.
func TestWhenACertificateShouldHaveBeenRenewed(t *testing.T) {
	const day = 24 * time.Hour
	for _, row := range []struct {
		lives, left time.Duration
		want        bool
	}{
		{90 * day, 8 * day, false}, {90 * day, 6 * day, true}, {28 * day, 7 * day, true},
		{4 * day, 2 * day, false}, {4 * day, 23 * time.Hour, true}, {day, 7 * time.Hour, false}, {day, 5 * time.Hour, true},
	} {
		now := time.Now()
		in := &InUse{files: Certificates{Now: func() time.Time { return now }}}
		got := in.fault(&x509.Certificate{NotBefore: now.Add(row.left - row.lives), NotAfter: now.Add(row.left)})
		if (got != "") != row.want {
			t.Errorf("lives %v, %v left: %q", row.lives, row.left, got)
		}
	}
}

// The end is that of the certificate in the files, also where nobody connects.
func TestTheEndFollowsTheFiles(t *testing.T) {
	dir := t.TempDir()
	cert, key := certify(t, dir, "gateway", 1)
	inUse, err := certificates(cert, key, "", nil).Open()
	if err != nil {
		t.Fatal(err)
	}
	first := inUse.NotAfter()
	if left := time.Until(first); left < 50*time.Minute || left > time.Hour {
		t.Errorf("%v left", left)
	}
	for time.Now().Truncate(time.Second).Equal(first.Add(-time.Hour)) { // certificates know seconds
		<-time.After(10 * time.Millisecond)
	}
	certify(t, dir, "gateway", 2)
	age(t, cert, 1)
	if !inUse.NotAfter().After(first) {
		t.Errorf("ends at %v as before", first)
	}
}

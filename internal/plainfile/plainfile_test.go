package plainfile

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestOnlyRegularFilesAreRead(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	for name, err := range map[string]error{
		"file":    os.WriteFile(at("file"), []byte("0123456789"), 0o600),
		"empty":   os.WriteFile(at("empty"), nil, 0o600),
		"fifo":    syscall.Mkfifo(at("fifo"), 0o600),
		"dir":     os.Mkdir(at("dir"), 0o700),
		"link":    os.Symlink("..data", at("link")), // as kubelet mounts a Secret
		"..data":  os.Symlink("file", at("..data")),
		"to fifo": os.Symlink("fifo", at("to fifo")),
		"loop":    os.Symlink("loop", at("loop")),
	} {
		if err != nil {
			t.Fatal(name, err)
		}
	}
	var lc net.ListenConfig
	socket, err := lc.Listen(t.Context(), "unix", at("socket"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = socket.Close() }()
	for _, row := range []struct {
		path  string
		limit int64
		want  string
		err   error
	}{
		{at("file"), 10, "0123456789", nil}, {at("link"), 100, "0123456789", nil}, {at("empty"), 0, "", nil},
		{at("fifo"), 10, "", ErrKind}, {at("to fifo"), 10, "", ErrKind}, {at("dir"), 10, "", ErrKind}, {at("socket"), 10, "", ErrKind},
		{"/dev/zero", 10, "", ErrKind}, {at("none"), 10, "", fs.ErrNotExist}, {at("loop"), 10, "", syscall.ELOOP},
	} {
		text, err := Read(row.path, row.limit)
		if string(text) != row.want || !errors.Is(err, row.err) || err != nil && !strings.Contains(err.Error(), row.path) {
			t.Errorf("%s: %q, %v", row.path, text, err)
		}
	}
	if _, err := Read(at("file"), 9); err == nil || !strings.Contains(err.Error(), "longer than 9 bytes") {
		t.Errorf("a file that is too long: %v", err)
	}
}

package child

import (
	"os"
	"os/signal"
	"syscall"
	"testing"

	"go.uber.org/goleak"
)

// TestMain plays the parent that is killed, for TestNobodyOutlivesUs.
func TestMain(m *testing.M) {
	if pipe := os.Getenv("CHILD_TEST_PIPE"); pipe != "" {
		if _, err := Start(Command{Name: "/bin/sh", Args: []string{"-c", `exec 3>"$1"; echo up >&3; exec sleep 1000`, "sh", pipe}}); err != nil {
			os.Exit(1)
		}
		forever := make(chan os.Signal, 1)
		signal.Notify(forever, syscall.SIGUSR1)
		<-forever
	}
	goleak.VerifyTestMain(m)
}

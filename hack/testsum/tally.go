package main

import (
	"bufio"
	"fmt"
	"os"
)

// counts tallies tests: a test with subtests is counted by these, not itself.
type counts struct{ passed, failed, skipped int }

func (c counts) String() string {
	s := fmt.Sprintf("%d passed, %d failed", c.passed, c.failed)
	if c.skipped > 0 {
		s += fmt.Sprintf(", %d skipped", c.skipped)
	}
	return s
}

// exitCode is 0 only when something ran and nothing failed.
func (c counts) exitCode() int {
	if c.failed > 0 || c.passed == 0 {
		return 1
	}
	return 0
}

// appendTally adds a line "passed failed skipped" to file.
func appendTally(file string, c counts) error {
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(f, "%d %d %d\n", c.passed, c.failed, c.skipped)
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	return err
}

func readTally(file string) (counts, error) {
	f, err := os.Open(file)
	if err != nil {
		return counts{}, err
	}
	defer f.Close()
	var sum counts
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		var c counts
		if _, err := fmt.Sscanf(lines.Text(), "%d %d %d", &c.passed, &c.failed, &c.skipped); err != nil {
			return counts{}, fmt.Errorf("%s: line %q is not three numbers: %w", file, lines.Text(), err)
		}
		sum.passed += c.passed
		sum.failed += c.failed
		sum.skipped += c.skipped
	}
	return sum, lines.Err()
}

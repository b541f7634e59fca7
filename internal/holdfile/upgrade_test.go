package holdfile

import (
	"os"
	"path/filepath"
	"testing"
)

// TestBO16_FilesOfEarlierPrograms: testdata has what the programs of these commits have written of hosts that
// failed; a release that reads them no more loses holds.
func TestBO16_FilesOfEarlierPrograms(t *testing.T) {
	for name, hosts := range map[string]int{
		"holds-4613690.db": 2, // before planned work
		"holds-71b6de7.db": 4, // before limits were learned
	} {
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join("testdata", name))
			if err != nil {
				t.Fatal(err)
			}
			d := newDesk(t)
			d.write(text)
			f := d.open()
			records, known, err := f.Load()
			if err != nil || !known || len(records) != hosts {
				t.Fatalf("%d records, known %v, %v; want %d", len(records), known, err, hosts)
			}
			for _, r := range records {
				if len(r.Episodes) != 1 || r.Episodes[0].State != "deploy failed" || r.Episodes[0].Since.IsZero() {
					t.Errorf("%+v", r)
				}
			}
			if len(d.beside()) > 0 {
				t.Errorf("beside: %v", d.beside())
			}
			d.close(f)
		})
	}
}

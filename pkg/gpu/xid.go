package gpu

import (
	_ "embed" // for the catalogue
	"fmt"
	"strconv"
	"strings"
	"sync"
)

// XID is what is known of one of the error codes that the driver reports.
type XID struct {
	Code     uint64
	Mnemonic string // NVIDIA's name: "ROBUST_CHANNEL_GPU_HAS_FALLEN_OFF_THE_BUS"
	// Description is NVIDIA's, "" for a code that the catalogue calls unused.
	Description string
	// ImmediateAction and InvestigatoryAction are NVIDIA's words for what to do: "RESTART_APP", "RESET_GPU"; "" where
	// the catalogue names none.
	ImmediateAction, InvestigatoryAction string
	Owner                                XIDOwner
	// Application: the usual cause is a fault of the application, and the GPU is as good as before.
	Application bool
	serious     bool
}

// XIDOwner says who has to act on an XID.
type XIDOwner string

// The owners.
const (
	XIDUser          XIDOwner = "user"          // whoever runs the application
	XIDOperator      XIDOwner = "operator"      // whoever runs the node
	XIDInformational XIDOwner = "informational" // nobody: it explains something else, or happens in passing
)

// Serious reports whether the GPU cannot be relied on until somebody acts. An application's fault never is, although
// NVIDIA may ask for a reset after it.
func (x XID) Serious() bool { return x.serious }

// LookupXID finds a code in NVIDIA's catalogue; false for a code that is not in it, of which nothing must be assumed.
func LookupXID(code uint64) (XID, bool) {
	x, found := xids()[code]
	return x, found
}

// XIDText is a code with what it means, "XID 79: GPU has fallen off the bus", or the number alone: "XID 999".
func XIDText(code uint64) string {
	text := "XID " + strconv.FormatUint(code, 10)
	x, found := LookupXID(code)
	switch {
	case !found:
		return text
	case x.Description == "":
		return text + ": " + x.Mnemonic
	default:
		return text + ": " + x.Description
	}
}

//go:embed xid.tsv
var xidCatalogue string

// xids reads the catalogue when it is first asked for. A test reads every row, so there is no error to return here.
var xids = sync.OnceValue(func() map[uint64]XID {
	table, _ := parseXIDs(xidCatalogue)
	return table
})

const xidColumns = "code\tmnemonic\tdescription\timmediate\tinvestigatory\towner\tapplication\tserious"

// parseXIDs reads the catalogue. The table holds the rows before the one that the error is about.
func parseXIDs(text string) (map[uint64]XID, error) {
	table := map[uint64]XID{}
	headed := false
	for i, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		switch {
		case strings.HasPrefix(line, "#"):
		case !headed:
			if line != xidColumns {
				return table, fmt.Errorf("line %d: must name the columns %q", i+1, xidColumns)
			}
			headed = true
		default:
			x, err := parseXID(line)
			if err != nil {
				return table, fmt.Errorf("line %d: %w", i+1, err)
			}
			if _, twice := table[x.Code]; twice {
				return table, fmt.Errorf("line %d: code %d is there twice", i+1, x.Code)
			}
			table[x.Code] = x
		}
	}
	return table, nil
}

func parseXID(line string) (XID, error) {
	cells := strings.Split(line, "\t")
	if want := strings.Count(xidColumns, "\t") + 1; len(cells) != want {
		return XID{}, fmt.Errorf("%d columns, must be %d", len(cells), want)
	}
	code, err := strconv.ParseUint(cells[0], 10, 64)
	if err != nil || cells[1] == "" {
		return XID{}, fmt.Errorf("code %q, mnemonic %q: must be a number and a name", cells[0], cells[1])
	}
	x := XID{
		Code: code, Mnemonic: cells[1], Description: cells[2], ImmediateAction: cells[3], InvestigatoryAction: cells[4],
		Owner: XIDOwner(cells[5]),
	}
	switch x.Owner {
	case XIDUser, XIDOperator, XIDInformational:
	default:
		return XID{}, fmt.Errorf("owner %q: must be %s, %s or %s", x.Owner, XIDUser, XIDOperator, XIDInformational)
	}
	for i, to := range []*bool{&x.Application, &x.serious} {
		switch cells[6+i] {
		case "yes":
			*to = true
		case "no":
		default:
			return XID{}, fmt.Errorf("%q in column %d: must be yes or no", cells[6+i], 7+i)
		}
	}
	return x, nil
}

package pi

import (
	"encoding/json"
	"errors"

	"github.com/pemmican-dev/pemmican"
	"github.com/pemmican-dev/pemmican/format"
)

// Engine is the member engine in the details of a compaction that Pemmican made through pi's hook. By it the lists of
// files in these details are known for what they are, where those of other extensions may mean anything.
const Engine = "pemmican"

// Compaction is a compaction as pi's hook session_before_compact takes it.
type Compaction struct {
	Summary          string
	FirstKeptEntryID string
	// TokensBefore is the size of the live context before, as Apply tells it.
	TokensBefore int
	// Files are the lists readFiles and modifiedFiles of pi's details, as a JSON object.
	Files json.RawMessage
}

// Compaction is the plan as the compaction that pi is to write: the one that Apply appends to a file. The error wraps
// format.ErrNotWritable if the plan is more than that, and is another one if nothing would be kept, which pi says by an
// id that it makes itself, or if the session was not decoded by DecodeForHook.
func (d *Doc) Compaction(plan *pemmican.Plan) (Compaction, error) {
	if !d.hook {
		return Compaction{}, errors.New("the session was not decoded by DecodeForHook")
	}
	first, err := d.validate(plan)
	switch {
	case err != nil:
		return Compaction{}, err
	case plan.Summary == "":
		return Compaction{}, &format.Error{Msg: "the plan has no summary, and pi records nothing else", Err: format.ErrNotWritable}
	case first == len(d.src):
		return Compaction{}, errors.New("the plan keeps nothing behind the summary")
	case d.version == 1:
		return Compaction{}, &format.Error{
			Msg: "the entries of a session of version 1 have no ids", Mend: "pi gives them some when it opens it", Err: format.ErrNotWritable,
		}
	}
	files := append(d.appendFiles([]byte{'{'}, plan), '}')
	return Compaction{Summary: plan.Summary, FirstKeptEntryID: d.keptID(first), TokensBefore: d.tokens(), Files: files}, nil
}

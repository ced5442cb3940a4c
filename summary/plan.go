package summary

import (
	"slices"
	"strings"

	"github.com/pemmican-dev/pemmican/internal/jsonspan"
)

// Limits of a plan.
const (
	maxSteps     = 60
	maxStepRunes = 160
)

// planner follows a plan tool. Some tools write the whole list with each call, some change one step.
type planner struct {
	steps []Step
	data  []byte
}

// call takes one call and its result.
func (p *planner) call(args, result string) {
	p.data = append(p.data[:0], args...)
	doc, err := jsonspan.Scan(p.data, 0)
	if err != nil {
		if steps := checklist(args); len(steps) > 0 {
			p.steps = steps
		}
		return
	}
	if steps, ok := p.list(doc); ok {
		p.steps = steps
		return
	}
	for _, v := range jsonspan.Members(p.data, doc) {
		if text, ok := jsonspan.String(p.data, v); ok {
			if steps := checklist(text); len(steps) > 0 {
				p.steps = steps
				return
			}
		}
	}
	if steps := checklist(result); len(steps) > 0 {
		p.steps = steps
		return
	}
	p.change(doc, result)
}

// list reads the first array of steps among the members of an object.
func (p *planner) list(doc jsonspan.Span) (steps []Step, ok bool) {
	for _, v := range jsonspan.Members(p.data, doc) {
		if jsonspan.KindAt(p.data, v) != jsonspan.KindArray {
			continue
		}
		for el := range jsonspan.Elements(p.data, v) {
			if len(steps) == maxSteps {
				break
			}
			if text, is := jsonspan.String(p.data, el); is {
				steps = append(steps, step(StepOpen, text))
			} else if text, state := p.step(el); text != "" {
				steps = append(steps, step(state, text))
			} else {
				return nil, false
			}
		}
		return steps, true
	}
	return nil, false
}

// step reads one object: its text, and its state, which is open if it tells none.
func (p *planner) step(s jsonspan.Span) (text string, state StepState) {
	state = StepOpen
	for _, key := range []string{"content", "step", "text", "description", "task", "subject", "title", "name"} {
		if v, ok := jsonspan.Get(p.data, s, key); ok {
			if t, ok := jsonspan.String(p.data, v); ok && strings.TrimSpace(t) != "" && text == "" {
				text = t
			}
		}
	}
	for _, key := range []string{"status", "state", "done", "completed", "checked"} {
		v, ok := jsonspan.Get(p.data, s, key)
		if !ok {
			continue
		}
		if yes, ok := jsonspan.Bool(p.data, v); ok && yes {
			state = StepDone
		} else if word, ok := jsonspan.String(p.data, v); ok {
			state = stepState(word)
		}
	}
	return text, state
}

func stepState(word string) StepState {
	switch strings.ToLower(word) {
	case "completed", "complete", "done", "finished", "closed", "resolved", "success":
		return StepDone
	case "in_progress", "in-progress", "inprogress", "in progress", "doing", "active", "started", "running", "current":
		return StepRunning
	case "cancelled", "canceled", "deleted", "removed", "skipped", "dropped", "abandoned":
		return StepCancelled
	case "pending", "open", "todo", "to_do", "not_started", "not-started", "new", "blocked", "":
		return StepOpen
	}
	return StepUnknown
}

func step(state StepState, text string) Step {
	return Step{state, cutEnd(oneLine(clean(text)), maxStepRunes)}
}

// change adds one step, or changes the one that is named by its number or id.
func (p *planner) change(doc jsonspan.Span, result string) {
	id := ""
	for _, key := range []string{"taskId", "task_id", "id", "index", "number"} {
		if v, ok := jsonspan.Get(p.data, doc, key); ok && id == "" {
			if s, ok := jsonspan.String(p.data, v); ok {
				id = s
			} else if jsonspan.KindAt(p.data, v) == jsonspan.KindNumber {
				id = string(v.Of(p.data))
			}
		}
	}
	text, state := p.step(doc)
	if id == "" {
		if text == "" {
			return // It only asked.
		}
		if n := firstNumber(result); n != "" {
			text = "#" + n + " " + text
		}
		if len(p.steps) < maxSteps {
			p.steps = append(p.steps, step(state, text))
		}
		return
	}
	at := slices.IndexFunc(p.steps, func(s Step) bool { return strings.HasPrefix(s.Text, "#"+id+" ") })
	if at < 0 {
		return
	}
	p.steps = slices.Clone(p.steps)
	_, hasState := jsonspan.Get(p.data, doc, "status")
	if action, ok := jsonspan.Get(p.data, doc, "action"); ok && jsonspan.Equal(p.data, action, "toggle") {
		state, hasState = StepDone, true
		if p.steps[at].State == StepDone {
			state = StepOpen
		}
	}
	if hasState {
		p.steps[at].State = state
	}
}

// firstNumber returns the digits behind the first # of a text.
func firstNumber(s string) string {
	i := strings.IndexByte(s, '#')
	if i < 0 {
		return ""
	}
	end := i + 1
	for end < len(s) && end < i+8 && classes[s[end]] == digit {
		end++
	}
	return s[i+1 : end]
}

// checklist reads a Markdown task list out of a text.
func checklist(text string) []Step {
	if !strings.Contains(text, "[ ]") && !strings.Contains(text, "[x]") && !strings.Contains(text, "[X]") {
		return nil
	}
	var steps []Step
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.TrimLeft(line, " \t-*+0123456789.)")
		if len(line) < 5 || line[0] != '[' || line[2] != ']' || line[3] != ' ' || len(steps) == maxSteps {
			continue
		}
		switch line[1] {
		case ' ':
			steps = append(steps, step(StepOpen, line[4:]))
		case 'x', 'X':
			steps = append(steps, step(StepDone, line[4:]))
		case '>', '~', '/', '*':
			steps = append(steps, step(StepRunning, line[4:]))
		case '-':
			steps = append(steps, step(StepCancelled, line[4:]))
		}
	}
	return steps
}

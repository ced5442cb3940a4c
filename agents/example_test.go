package agents_test

import (
	"encoding/json"
	"fmt"

	"github.com/pemmican-dev/pemmican"
	"github.com/pemmican-dev/pemmican/agents"
	"github.com/pemmican-dev/pemmican/format"
)

// Tools of your own come from a settings file and are laid over those that are known.
func ExampleExtend() {
	var settings struct {
		Tools agents.Settings `json:"tools"`
	}
	file := `{"tools": {"my_read": {"role": "read", "path": ["file"], "range": ["from", "to"]}}}`
	if err := json.Unmarshal([]byte(file), &settings); err != nil {
		fmt.Println(err)
		return
	}
	tools := agents.Extend(agents.Tools(), pemmican.Tools(settings.Tools))
	fmt.Println(tools["my_read"].Path, tools["Edit"].Role == pemmican.EditTool)
	// Output: [file] true
}

func ExampleAgent_Resume() {
	pi, _ := agents.Named("pi")
	fmt.Println(pi.Resume(nil, format.Info{Dir: "/home/me/my app"}, "/home/me/.pi/agent/sessions/x/a.jsonl"))
	// Output: cd '/home/me/my app' && pi --session /home/me/.pi/agent/sessions/x/a.jsonl
}

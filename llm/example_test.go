package llm_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"

	"github.com/pemmican-dev/pemmican/llm"
)

// A request of our own, to a server that speaks OpenAI's Chat protocol.
func ExampleClient_Send() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `data: {"choices":[{"delta":{"content":"Hello, "}}]}`+"\n\n")
		_, _ = io.WriteString(w, `data: {"choices":[{"delta":{"content":"world."},"finish_reason":"stop"}]}`+"\n\n")
		_, _ = io.WriteString(w, `data: {"choices":[],"usage":{"prompt_tokens":12,"completion_tokens":4}}`+"\n\n")
		_, _ = io.WriteString(w, "data: [DONE]\n\n")
	}))
	defer server.Close()

	client := llm.Client{API: llm.Chat, BaseURL: server.URL + "/v1", Key: llm.KeyFromEnv(llm.Chat)}
	body := llm.Chat.Body(llm.Prompt{Model: "some-model", User: "Greet the world.", MaxTokens: 100})
	reply, err := client.Send(context.Background(), body, nil)
	if err != nil {
		fmt.Println(llm.KindOf(err), err)
		return
	}
	fmt.Println(reply.Text, reply.Stop == llm.StopEnd, reply.Usage.Input, reply.Usage.Output)
	// Output: Hello, world. true 12 4
}

// An agent's own request, with one more message: what stands before it is as it was, so the provider has it cached.
func ExampleAPI_Extend() {
	body := []byte(`{"model":"m","max_tokens":1024,"stream":true,"system":"You are an agent.","messages":[{"role":"user","content":"Mend it."}]}`)
	api, _ := llm.Detect(body)
	longer, err := api.Extend(body, "Sum up.")
	fmt.Println(string(longer), err)
	// Output: {"model":"m","max_tokens":1024,"stream":true,"system":"You are an agent.","messages":[{"role":"user","content":"Mend it."},{"role":"user","content":[{"type":"text","text":"Sum up."}]}]} <nil>
}

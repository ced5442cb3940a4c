// The extension in real pi, with a sidecar that says what a test tells it to.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { extension, fake, packages, start, version } from "./harness.mjs";

const tool = {
	name: "compact_context",
	label: "Compact context",
	description: "THE DESCRIPTION",
	snippet: "THE SNIPPET",
	guidelines: ["THE GUIDELINE"],
	instructions: "THE ARGUMENT",
};
const hello = { protocol: 1, tool };
const compaction = { summary: "OURS", firstKeptEntryId: "$kept", tokensBefore: 42, details: { engine: "pemmican", mode: "same" } };
const text = (message) => (typeof message.content === "string" ? message.content : (message.content?.[0]?.text ?? ""));

async function begin(t, folder, script, more = {}) {
	const f = fake(t, script);
	const pi = await start(t, folder, { extensions: [extension], ...more, env: { ...f.env, ...more.env } });
	return Object.assign(pi, { sidecar: f, compactions: () => pi.session().filter((line) => line.type === "compaction") });
}

for (const folder of packages) {
	describe(`the extension in pi ${version(folder)}`, { concurrency: 2 }, () => {
		test("what the sidecar is told, and that its tool and its compaction are taken", async (t) => {
			const pi = await begin(t, folder, { hello, compact: { compaction } });
			await pi.prompt("first question");
			await pi.prompt("second question");
			await pi.send("set_model", { provider: "test", modelId: "two" });
			assert.equal((await pi.send("compact", { customInstructions: "the tests" })).data.summary, "OURS");
			await pi.prompt("third question");
			await pi.close();

			const lines = pi.sidecar.lines();
			assert.deepEqual(lines[0], { started: ["agent", "--stdio"] });
			assert.deepEqual(
				lines.slice(1).map((line) => line.event),
				["hello", "usage", "settled", "usage", "settled", "model", "compact", "compacted", "usage", "settled", "end"],
			);
			const [first] = pi.sidecar.events("hello");
			assert.equal(first.protocol, 1);
			assert.equal(first.agent, "pi");
			assert.equal(first.version, version(folder));
			assert.equal(first.agentDir, `${pi.home}/.pi/agent`);
			assert.equal(first.session.dir, pi.work);
			assert.match(first.session.file, /\.jsonl$/);
			assert.equal(first.compactions, 0);
			assert.equal(first.headless, false);
			assert.equal(first.model.contextWindow, 200_000);
			assert.deepEqual(pi.sidecar.events("settled")[0].usage, { tokens: 1010, contextWindow: 200_000 });
			const [switched] = pi.sidecar.events("model");
			assert.deepEqual([switched.model.id, switched.model.provider], ["two", "test"]);
			const [compact] = pi.sidecar.events("compact");
			assert.deepEqual([compact.reason, compact.instructions, compact.keepRecent], ["manual", "the tests", 3]);
			assert.equal(compact.header.id, first.session.id);
			const entries = pi.session().slice(1);
			assert.deepEqual(compact.entries, entries.slice(0, compact.entries.length));
			const [compacted] = pi.sidecar.events("compacted");
			assert.equal(compacted.fromExtension, true);
			assert.equal(compacted.tokensBefore, 42);
			assert.ok(compacted.tokensAfter > 0);
			assert.deepEqual(compacted.details, compaction.details);
			assert.deepEqual(compacted.usage, { tokens: null, contextWindow: 200_000 });

			const [entry] = pi.compactions();
			assert.deepEqual([entry.fromHook, entry.summary, entry.details], [true, "OURS", compaction.details]);
			const sent = pi.requests[0].tools.find((each) => each.function.name === tool.name).function;
			assert.equal(sent.description, tool.description);
			assert.equal(sent.parameters.properties.instructions.description, tool.instructions);
			assert.equal(sent.parameters.required ?? undefined, undefined);
			const system = text(pi.requests[0].messages[0]);
			assert.ok(system.includes("THE SNIPPET") && system.includes("THE GUIDELINE"));
			assert.deepEqual(pi.events.filter((event) => event.type === "extension_error"), []);
		});

		for (const value of folder === packages.at(-1) ? ["", "0", "some-id"] : [""]) {
			test(`X15: nothing happens in a subagent (${JSON.stringify(value)})`, async (t) => {
				const pi = await begin(t, folder, { hello, compact: { compaction } }, { env: { PI_SUBAGENT_ROOT_SESSION_ID: value } });
				await pi.prompt("first question");
				await pi.prompt("second question");
				assert.equal((await pi.send("compact")).data.summary, "done");
				assert.deepEqual(pi.sidecar.lines(), []);
				assert.ok(!pi.requests[0].tools.some((each) => each.function.name === tool.name));
				assert.ok(!(await pi.send("get_commands")).data.commands.some((each) => each.name === "pemmican"));
			});
		}

		test("no program: one notice, and pi compacts by itself", async (t) => {
			const pi = await start(t, folder, { extensions: [extension] });
			await pi.prompt("first question");
			await pi.prompt("second question");
			assert.equal((await pi.send("compact")).data.summary, "done");
			await pi.prompt("third question");
			assert.equal(pi.notices().length, 1);
			assert.match(pi.notices()[0], /^Pemmican: the program is not in PATH and ~\/go\/bin: run go install/);
			assert.ok(!pi.requests[0].tools.some((each) => each.function.name === tool.name));
		});

		for (const [how, script] of Object.entries({
			"it hands back": { compact: { handBack: "the model is excluded", notices: [{ level: "info", text: "the model is excluded" }] } },
			"it dies": { compact: "die" },
			"it answers garbage": { compact: "garbage" },
			"its ask fails": { compact: { ask: { n: 1, model: "test/gone", mode: "cross", user: "u" }, handBack: "unresolved" } },
		})) {
			test(`${how}: pi compacts by itself, and goes on`, async (t) => {
				const pi = await begin(t, folder, { hello, ...script });
				await pi.prompt("first question");
				await pi.prompt("second question");
				assert.equal((await pi.send("compact")).data.summary, "done");
				await pi.prompt("third question");
				assert.ok(!pi.compactions()[0].fromHook);
				if (how === "it dies") assert.match(pi.notices()[0], /the program has ended .*pi compacts by itself/);
				if (how === "it hands back") assert.deepEqual(pi.notices(), ["the model is excluded"]);
			});
		}

		test("X3: a model that is not there or has no key is not asked", async (t) => {
			const asks = ["test/gone", "nobody/one", "keyless/one"].map((model, n) => ({
				ask: { n: n + 1, model, mode: "cross", user: "u" },
				handBack: "unresolved",
			}));
			const pi = await begin(t, folder, { hello, compact: asks });
			await pi.prompt("question");
			for (const _ of asks) {
				await pi.prompt("question");
				await pi.send("compact");
			}
			assert.equal(pi.requests.length, 1 + 2 * asks.length); // a turn and pi's own summary for each
			const replies = pi.sidecar.lines().filter((line) => line.reply).map((line) => line.reply.unresolved);
			assert.deepEqual(replies, ["pi knows no model test/gone", "pi knows no model nobody/one", "pi has no key for keyless/one"]);
		});

		test("a cross request has what was asked for, and nothing else", async (t) => {
			const ask = { n: 1, model: "test/two", mode: "cross", system: "SYSTEM", user: "USER", maxTokens: 77 };
			const pi = await begin(t, folder, { hello, compact: { ask, compaction: { ...compaction, summary: "$reply" } } });
			await pi.prompt("first question");
			await pi.prompt("second question");
			assert.equal((await pi.send("compact")).data.summary, "done");
			const { model, messages, tools, max_completion_tokens } = pi.requests.at(-1);
			assert.deepEqual([model, max_completion_tokens, tools?.length ?? 0], ["two", 77, 0]);
			assert.deepEqual(messages.map((message) => [message.role, text(message)]), [["system", "SYSTEM"], ["user", "USER"]]);
			const { reply } = pi.sidecar.lines().find((line) => line.reply);
			assert.deepEqual([reply.n, reply.text, reply.stop, reply.calls, reply.usage.input, reply.usage.output], [1, "done", "stop", [], 1000, 10]);
		});

		test("a model's error is told, and so is a call of a tool", async (t) => {
			const ask = { n: 1, model: "test/one", mode: "same", instruction: "SUM UP" };
			const script = { hello, compact: { ask, handBack: "no" } };
			const replied = async (reply) => {
				const pi = await begin(t, folder, script, {
					reply: ({ messages }) => (text(messages.at(-1)) === "SUM UP" ? reply : { text: "done" }),
				});
				await pi.prompt("first question");
				await pi.prompt("second question");
				await pi.send("compact");
				return pi.sidecar.lines().find((line) => line.reply).reply;
			};
			const failed = await replied({ status: 400, error: "no such thing" });
			assert.deepEqual([failed.stop, failed.text], ["error", ""]);
			assert.match(failed.error, /no such thing/);
			const called = await replied({ text: "first I look", calls: [{ name: "bash", args: { command: "git status" } }] });
			assert.deepEqual([called.stop, called.text, called.calls], ["toolUse", "first I look", ["bash"]]);
		});

		// The RPC mode of the oldest calls runs off, but no compaction.
		const deaf = folder === packages[0] && "this pi cannot be told to stop a compaction from outside of its terminal";
		test("called off by the person: the model's request and the sidecar hear of it", { skip: deaf }, async (t) => {
			const ask = { n: 1, model: "test/one", mode: "same", instruction: "SUM UP" };
			const pi = await begin(t, folder, { hello, compact: { ask, compaction } }, {
				reply: ({ messages }) => (text(messages.at(-1)) === "SUM UP" ? new Promise(() => {}) : { text: "done" }),
			});
			await pi.prompt("first question");
			await pi.prompt("second question");
			const compacting = pi.send("compact");
			while (pi.requests.length < 3) await new Promise((resolve) => setTimeout(resolve, 10));
			await pi.send("abort");
			assert.equal((await compacting).success, false);
			await pi.prompt("third question");
			assert.equal(pi.compactions().length, 0);
			const [{ id }] = pi.sidecar.events("compact");
			assert.equal(pi.sidecar.lines().find((line) => line.cancel).cancel, id);
			assert.equal(pi.sidecar.lines().find((line) => line.reply).reply.stop, "aborted");
			const [failed] = pi.sidecar.events("compact-failed");
			assert.equal(failed.aborted, true);
		});

		test("a failed compaction is told once, on every path", async (t) => {
			const pi = await begin(
				t,
				folder,
				{ hello, tool: { text: "launched", launch: { instructions: "FOCUS" } }, compact: { handBack: "no" } },
				{
					reply: ({ messages, tools }) => {
						if (!tools?.length) return { status: 400, error: "no summary today" }; // pi's own
						return text(messages.at(-1)) === "compact" ? { calls: [{ name: tool.name, args: {} }] } : { text: "done" };
					},
				},
			);
			await pi.prompt("first question");
			await pi.prompt("second question");
			assert.equal((await pi.send("compact")).success, false);
			await pi.prompt("compact");
			await pi.wait("compaction_end");
			await pi.prompt("third question");
			assert.equal(pi.sidecar.events("compact").length, 2);
			assert.equal(pi.sidecar.events("compact")[1].instructions, "FOCUS");
			assert.equal(pi.sidecar.events("compact-failed").length, 2);
			assert.match(pi.sidecar.events("compact-failed")[1].error, /no summary today/);
		});

		test("an interrupted or failed run has not settled: nobody is reminded", async (t) => {
			const pi = await begin(
				t,
				folder,
				{ hello, settled: { say: { text: "REMINDER", kind: "reminder", deliver: "followUp", turn: true } } },
				{ reply: ({ messages }) => (text(messages.at(-1)) === "fail" ? { status: 400, error: "no" } : new Promise(() => {})) },
			);
			await pi.send("prompt", { message: "stall" });
			while (pi.requests.length < 1) await new Promise((resolve) => setTimeout(resolve, 10));
			await pi.send("abort");
			await pi.wait("agent_settled");
			await pi.prompt("fail");
			await pi.close();
			assert.equal(pi.requests.length, 2);
			assert.deepEqual(pi.sidecar.events("settled"), []);
		});

		test("it dies and is started again: everything is there as before", async (t) => {
			const back = { ...hello, notices: [{ level: "info", text: "back again" }] };
			const pi = await begin(t, folder, { hello: [hello, back], compact: ["die", { compaction }], tool: { refused: "38K is below 200K" } }, {
				reply: ({ messages }) => (text(messages.at(-1)) === "compact" ? { calls: [{ name: tool.name, args: {} }] } : { text: "done" }),
			});
			await pi.prompt("first question");
			await pi.prompt("second question");
			assert.equal((await pi.send("compact")).data.summary, "done");
			await pi.notice("back again");
			assert.equal(pi.sidecar.events("hello")[1].compactions, 1);
			await pi.prompt("compact");
			assert.equal(text(pi.session().findLast((line) => line.message?.role === "toolResult").message), "38K is below 200K");
			assert.equal((await pi.send("compact")).data.summary, "OURS");
			assert.equal(pi.notices().length, 2);
		});

		test("the tool: it returns at once, and the outcome begins a run", async (t) => {
			const pi = await begin(
				t,
				folder,
				{
					hello,
					tool: { text: "LAUNCHED", launch: {} },
					compact: { compaction },
					compacted: { say: { text: "OUTCOME", kind: "outcome", deliver: "steer", turn: true } },
				},
				{
					reply: ({ messages }) =>
						text(messages.at(-1)) === "compact" ? { calls: [{ name: tool.name, args: { instructions: "keep the ids" } }] } : { text: "done" },
				},
			);
			await pi.prompt("first question");
			await pi.prompt("compact");
			await pi.wait("compaction_end");
			await pi.wait("agent_settled");
			assert.equal(pi.sidecar.events("tool")[0].instructions, "keep the ids");
			const last = pi.requests.at(-1).messages;
			assert.ok(last.some((message) => text(message).includes("OURS")), "the summary stands in what pi sends");
			assert.equal(text(last.at(-1)), "OUTCOME");
			const order = pi.events.map((event) => event.type).filter((type) => /^(compaction_end|agent_start)$/.test(type));
			assert.deepEqual(order, ["agent_start", "agent_start", "compaction_end", "agent_start"]);
			const results = pi.session().filter((line) => line.message?.role === "toolResult").map((line) => text(line.message));
			assert.deepEqual(results, ["LAUNCHED"]);
		});

		test("a refused call is the tool's error", async (t) => {
			const pi = await begin(t, folder, { hello, tool: { refused: "38K is below 200K" } }, {
				reply: (_body, n) => (n === 1 ? { calls: [{ name: tool.name, args: {} }] } : { text: "done" }),
			});
			await pi.prompt("compact");
			const { message } = pi.session().find((line) => line.message?.role === "toolResult");
			assert.deepEqual([message.isError, text(message)], [true, "38K is below 200K"]);
		});

		test("what comes unasked: a compaction that is to start, and notices", async (t) => {
			const unasked = { launch: { instructions: "FROM OUTSIDE" }, notices: [{ level: "warning", text: "somebody asks" }] };
			const pi = await begin(t, folder, { hello, settled: [{}, { unasked }, {}], compact: { compaction } });
			await pi.prompt("first question");
			await pi.prompt("second question");
			await pi.wait("compaction_end");
			assert.equal(pi.sidecar.events("compact")[0].instructions, "FROM OUTSIDE");
			assert.deepEqual(pi.notices(), ["somebody asks"]);
		});

		test("unasked in the middle of a turn: what runs comes to its end", async (t) => {
			const pi = await begin(t, folder, { hello, usage: [{ unasked: { launch: {} } }, {}], compact: { compaction } }, {
				reply: (_body, n) =>
					n <= 2 ? { calls: [{ name: "bash", args: { command: `sleep ${n - 1}; echo SLEPT` } }] } : { text: "done" },
			});
			await pi.prompt("first question");
			await pi.wait("compaction_end");
			const results = pi.session().filter((line) => line.message?.role === "toolResult").map((line) => text(line.message));
			assert.deepEqual(results, ["SLEPT\n", "SLEPT\n"]);
			assert.equal(pi.compactions().length, 1);
		});

		test("a call of the tool that is interrupted launches nothing, and the sidecar hears of it", async (t) => {
			const pi = await begin(t, folder, { hello, tool: ["silence", { refused: "no" }], compact: { compaction } }, {
				reply: ({ messages }) => (text(messages.at(-1)) === "compact" ? { calls: [{ name: tool.name, args: {} }] } : { text: "done" }),
			});
			await pi.send("prompt", { message: "compact" });
			while (pi.sidecar.events("tool").length < 1) await new Promise((resolve) => setTimeout(resolve, 10));
			await pi.send("abort");
			await pi.wait("agent_settled");
			await pi.prompt("compact");
			assert.equal(pi.sidecar.lines().find((line) => line.cancel).cancel, pi.sidecar.events("tool")[0].id);
			assert.deepEqual(pi.compactions(), []);
		});

		test("it dies while the agent's compaction is made: the next one tells the agent the outcome", async (t) => {
			const pi = await begin(
				t,
				folder,
				{
					hello,
					tool: { text: "LAUNCHED", launch: {} },
					compact: "die",
					compacted: { say: { text: "OUTCOME", kind: "outcome", deliver: "steer", turn: true } },
				},
				{
					reply: ({ messages, tools }) =>
						tools?.length && text(messages.at(-1)) === "compact" ? { calls: [{ name: tool.name, args: {} }] } : { text: "done" },
				},
			);
			await pi.prompt("first question");
			await pi.prompt("compact");
			await pi.wait("agent_settled");
			assert.equal(text(pi.requests.at(-1).messages.at(-1)), "OUTCOME");
			const [compacted] = pi.sidecar.events("compacted");
			assert.deepEqual([compacted.asked, compacted.fromExtension], [true, false]);
			assert.match(compacted.error, /the program has ended/);
			assert.equal(pi.sidecar.events("hello")[1].compactions, 0, "it hears of this one by itself");
		});

		test("an entry that is not there is not kept: pi compacts by itself", async (t) => {
			const pi = await begin(t, folder, { hello, compact: { compaction: { ...compaction, firstKeptEntryId: "nowhere" } } });
			await pi.prompt("first question");
			await pi.prompt("second question");
			assert.equal((await pi.send("compact")).data.summary, "done");
			assert.match(pi.notices()[0], /an entry that is not there; pi compacts by itself/);
		});

		test("it is silent: pi does not wait for it", async (t) => {
			const pi = await begin(t, folder, { hello, settled: "silence" });
			await pi.prompt("first question");
			assert.equal(pi.sidecar.events("hello").length, 1, "pi has settled before the process was given up");
		});

		// A newer one does not go elsewhere meanwhile.
		test("the person goes elsewhere meanwhile: nothing is compacted", { skip: folder !== packages[0] && "this pi waits" }, async (t) => {
			const back = `export default (pi) => pi.registerCommand("back", { handler: async (_args, ctx) => {
				const first = ctx.sessionManager.getBranch().find((entry) => entry.message?.role === "assistant");
				await ctx.navigateTree(first.id, { summarize: false });
			} });`;
			const summary = Promise.withResolvers();
			const ask = { n: 1, model: "test/one", mode: "same", instruction: "SUM UP" };
			const pi = await begin(t, folder, { hello, compact: { ask, compaction } }, {
				extensions: [extension, back],
				reply: ({ messages }) => (text(messages.at(-1)) === "SUM UP" ? summary.promise : { text: "done" }),
			});
			await pi.prompt("first question");
			await pi.prompt("second question");
			const compacting = pi.send("compact");
			while (pi.requests.length < 3) await new Promise((resolve) => setTimeout(resolve, 10));
			await pi.send("prompt", { message: "/back" });
			summary.resolve({ text: "late" });
			assert.equal((await compacting).success, false);
			assert.deepEqual(pi.compactions(), []);
			await pi.notice("has moved to another place");
		});

		test("a session that has ended gets nothing any more (4B.4)", async (t) => {
			const ask = { n: 1, model: "test/one", mode: "same", instruction: "SUM UP" };
			const summary = Promise.withResolvers();
			const pi = await begin(
				t,
				folder,
				{
					hello,
					tool: { text: "LAUNCHED", launch: {} },
					compact: { ask, compaction },
					compacted: { say: { text: "OUTCOME", kind: "outcome", deliver: "steer", turn: true } },
				},
				{
					reply: ({ messages }) => {
						const last = text(messages.at(-1));
						if (last === "SUM UP") return summary.promise;
						return last === "compact" ? { calls: [{ name: tool.name, args: {} }] } : { text: "done" };
					},
				},
			);
			await pi.prompt("first question");
			await pi.prompt("compact");
			while (pi.requests.length < 3) await new Promise((resolve) => setTimeout(resolve, 10));
			assert.equal((await pi.send("new_session")).success, true);
			await pi.prompt("a question in another session");
			summary.resolve({ text: "late" });
			await pi.prompt("one more");
			await pi.prompt("and another");
			assert.equal(pi.sidecar.events("hello").length, 2);
			assert.equal(pi.sidecar.events("end").length, 1);
			const { messages } = pi.requests.at(-1);
			assert.ok(!messages.some((message) => /OUTCOME|OURS|compacted into/.test(text(message))), "nothing of the other session");
			assert.deepEqual(pi.events.filter((event) => event.type === "extension_error"), []);
		});

		test("/pemmican shows the status", async (t) => {
			const pi = await begin(t, folder, { hello, status: { notices: [{ level: "info", text: "all is well" }] } });
			await pi.send("prompt", { message: "/pemmican" });
			assert.equal(await pi.notice("all"), "all is well");
		});
	});
}

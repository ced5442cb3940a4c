// Pemmican in pi. Everything is decided by the program pemmican, which runs beside pi: this file tells it what happens,
// and does what it answers. Whatever goes wrong, pi's own compaction goes on.

import {
	buildSessionContext,
	estimateTokens,
	type ExtensionAPI,
	type ExtensionContext,
	getAgentDir,
	VERSION,
} from "@earendil-works/pi-coding-agent";
import { askModel } from "../src/models.ts";
import { type Event, type Line, message, PROTOCOL, Sidecar } from "../src/sidecar.ts";

export default function pemmican(pi: ExtensionAPI) {
	// A subagent's context is its own, and short: its parent's settings are not meant for it.
	if (process.env.PI_SUBAGENT_ROOT_SESSION_ID !== undefined) return;

	let sidecar: Sidecar | undefined;
	let context: ExtensionContext; // of the newest event
	let over = false; // the session has ended: what comes for it now goes nowhere
	// pi may still tell what happens in a session that has ended, with a context that throws.
	const on = ((name: any, handler: any) =>
		pi.on(name, (event: any, ctx: any) => (over ? undefined : handler(event, ctx)))) as ExtensionAPI["on"];
	let compacting = false; // a compaction has begun, and the sidecar does not know yet how it ended
	let asked = false; // it was launched for the agent, which waits for the outcome
	let untold = false; // it has been made, and the sidecar does not know yet
	let why: string | undefined; // the sidecar's own was not to be had for it
	let later: Line["launch"]; // a launch that waits for the end of the turn
	let launched = Promise.resolve(); // until pi is through with the compaction that was launched last

	// tell sends an event with the state of the session, and does what the answer says.
	async function tell(ctx: ExtensionContext, event: Event, more: { signal?: AbortSignal } = {}, after?: Promise<void>): Promise<Line> {
		context = ctx;
		if (!sidecar) return {};
		const line = await sidecar.send({ model: described(ctx.model), usage: used(ctx), ...event }, more);
		await after;
		if (line.launch && more.signal?.aborted) {
			// The call has been interrupted while its answer came: what it would launch is not wanted any more.
			void note(ctx, { event: "compact-failed", reason: "manual", aborted: true });
			throw new Error("it was called off");
		}
		carryOut(ctx, line);
		return line;
	}

	// guarded tells the person what goes wrong where pi does not wait for it: nobody else would catch it, and pi would end.
	async function guarded(ctx: ExtensionContext, work: () => unknown): Promise<void> {
		try {
			await work();
		} catch (error) {
			// If the program is not there, the person has been told so.
			if (!over && sidecar?.there) ctx.ui.notify(`Pemmican: ${message(error)}.`, "warning");
		}
	}

	// note is for events that go on without their answer, or wait for it so long only that nobody minds.
	function note(ctx: ExtensionContext, event: Event): Promise<void> {
		let timer: NodeJS.Timeout;
		const late = new Promise<void>((resolve) => {
			timer = setTimeout(resolve, 3_000);
		});
		return Promise.race([guarded(ctx, () => tell(ctx, event)), late]).finally(() => clearTimeout(timer));
	}

	// outcome tells what became of a compaction. Where the agent waits for it, the sidecar may take its time to come back.
	function outcome(ctx: ExtensionContext, event: Event, after?: Promise<void>): Promise<void> {
		const waits = asked;
		asked = false;
		return guarded(ctx, async () => {
			for (let tries = 3; waits && tries > 0 && (await sidecar?.back(20_000)); tries--) {
				try {
					await tell(ctx, { ...event, asked: true }, {}, after);
					return;
				} catch (error) {
					if (sidecar?.there) throw error;
					// It has ended over this: once more, to the next one.
				}
			}
			if (!waits) return tell(ctx, event, {}, after);
			const text = "Pemmican: the program is not there to tell the agent that its compaction has ended: tell it to go on.";
			if (!over) ctx.ui.notify(text, "warning");
		}).finally(() => {
			untold = false;
		});
	}

	function carryOut(ctx: ExtensionContext, line: Line): void {
		if (over) return;
		for (const notice of line.notices ?? []) ctx.ui.notify(notice.text, notice.level);
		if (line.say) {
			const { text, kind, deliver, turn } = line.say;
			pi.sendMessage(
				{ customType: "pemmican", content: text, display: true, details: { kind } },
				{ deliverAs: deliver, ...(turn ? { triggerTurn: true } : {}) },
			);
		}
		if (line.launch) launch(ctx, line.launch.instructions);
	}

	// launch starts pi's own way to a compaction, and does not wait: it begins by ending the run that called the tool.
	function launch(ctx: ExtensionContext, instructions?: string): void {
		compacting = asked = true;
		launched = new Promise((resolve) => {
			ctx.compact({
				customInstructions: instructions,
				onComplete: () => resolve(),
				onError: (error) => {
					resolve();
					failed(ctx, { error: message(error), aborted: /cancel|abort/i.test(message(error)) });
				},
			});
		});
	}

	// failed tells once that a compaction did not happen. An older pi says so only to who started it.
	function failed(ctx: ExtensionContext, how: { error?: string; aborted?: boolean; reason?: string }): void {
		if (!compacting || over) return;
		compacting = false;
		void outcome(ctx, { event: "compact-failed", reason: "manual", ...how });
	}

	pi.on("session_start", async (_event, ctx) => {
		if (sidecar) return; // an older pi says it twice of a session that follows another; each has its own instance of this
		context = ctx;
		sidecar = new Sidecar({
			hello: () => ({
				event: "hello",
				protocol: PROTOCOL,
				agent: "pi",
				version: VERSION,
				agentDir: getAgentDir(),
				session: { id: ctx.sessionManager.getSessionId(), file: ctx.sessionManager.getSessionFile(), dir: ctx.cwd },
				compactions: ctx.sessionManager.getBranch().filter((entry) => entry.type === "compaction").length - (untold ? 1 : 0),
				headless: !ctx.hasUI,
				model: described(context.model),
				usage: used(context),
			}),
			ready: (line) => {
				if (over) return;
				// Without a person pi ends with the run, and a call of the tool would end the run.
				if (context.hasUI) registerTool(line.tool);
				carryOut(context, line);
			},
			unasked: (line) =>
				void guarded(context, () => {
					if (line.launch && !context.isIdle()) later = line.launch; // nothing that runs is interrupted for it
					carryOut(context, later ? { ...line, launch: undefined } : line);
				}),
			gone: (text) => {
				if (!over) context.ui.notify(text, "warning");
			},
		});
		await sidecar.start();
	});

	function registerTool(tool: Line["tool"]): void {
		if (!tool) return;
		pi.registerTool({
			name: tool.name,
			label: tool.label,
			description: tool.description,
			promptSnippet: tool.snippet,
			promptGuidelines: tool.guidelines,
			parameters: { type: "object", properties: { instructions: { type: "string", description: tool.instructions } } } as any,
			...({ exposure: "model-only" } as {}), // a newer pi: not from a script
			async execute(_id: string, { instructions }: any, signal: AbortSignal | undefined, _update: unknown, ctx: ExtensionContext) {
				const line = await tell(ctx, { event: "tool", instructions }, { signal });
				if (line.refused) throw new Error(line.refused);
				return { content: [{ type: "text", text: line.text ?? "" }], details: {} };
			},
		} as any);
	}

	on("session_before_compact", async (event, ctx) => {
		compacting = true;
		why = "the program did not run";
		if (!sidecar?.there) return; // the person has been told
		why = undefined;
		const { signal } = event;
		const leaf = ctx.sessionManager.getLeafId();
		let compaction: Line["compaction"];
		let veto: string | undefined;
		try {
			({ compaction, veto } = await ours(event, ctx));
		} catch (error) {
			why = message(error);
			if (!over && !signal.aborted) ctx.ui.notify(`Pemmican: ${why}; pi compacts by itself.`, "warning");
		}
		if (over || signal.aborted) return;
		if (leaf && !ctx.sessionManager.getBranch().some((entry) => entry.id === leaf)) {
			// An older pi would write the entry where the person has gone meanwhile, with a summary of where they were.
			ctx.ui.notify("Pemmican: the conversation has moved to another place meanwhile, and nothing is compacted.", "info");
			return { cancel: true };
		}
		if (compaction) return { compaction: compaction as any };
		if (veto) return { cancel: true }; // a hook of the person's wants no compaction now
	});

	// ours asks the sidecar for a compaction.
	async function ours({ preparation, branchEntries, customInstructions, reason, signal }: any, ctx: ExtensionContext): Promise<Line> {
		const wanted = {
			event: "compact",
			reason,
			instructions: customInstructions,
			header: ctx.sessionManager.getHeader(),
			entries: branchEntries,
			keepRecent: preparation.settings.keepRecentTokens,
			tokensBefore: preparation.tokensBefore,
		};
		const line = await tell(ctx, wanted, {
			signal,
			wait: 5 * 60_000, // a hook of the person may take its time
			ask: (ask: any, called: AbortSignal) => askModel(ask, branchEntries, pi, ctx, AbortSignal.any([signal, called])),
		} as object);
		const kept = line.compaction?.firstKeptEntryId;
		if (kept !== undefined && !branchEntries.some((entry: any) => entry.id === kept)) {
			throw new Error("the program wants to keep an entry that is not there");
		}
		return line;
	}

	on("session_compact", (event, ctx) => {
		compacting = false;
		const { compactionEntry: entry, fromExtension, reason } = event;
		const { messages } = buildSessionContext(ctx.sessionManager.getBranch());
		const compacted = {
			event: "compacted",
			reason,
			fromExtension,
			details: entry.details,
			tokensBefore: entry.tokensBefore,
			tokensAfter: messages.reduce((sum, each) => sum + estimateTokens(each), 0),
			error: why,
		};
		untold = true;
		// What the agent is told of it may start a run, and pi is not through with the compaction before this returns.
		void outcome(ctx, compacted, launched);
	});

	// An older pi does not know this event.
	on("session_compact_failed" as any, (event: any, ctx: ExtensionContext) => {
		failed(ctx, { error: event.errorMessage, aborted: event.aborted, reason: event.reason });
	});
	// No run begins while pi compacts, unless the compaction has led to nothing.
	on("agent_start", (_event, ctx) => failed(ctx, { error: "pi wrote no compaction" }));

	on("turn_end", (_event, ctx) => {
		void note(ctx, { event: "usage" });
		if (later) launch(ctx, later.instructions);
		later = undefined;
	});
	on("agent_settled", (_event, ctx) => {
		if (!ctx.hasUI) return; // pi ends now
		// What was interrupted or has failed waits for the person: a reminder would set the agent going again, and so would an
		// outcome.
		const entry: any = ctx.sessionManager.getBranch().findLast((each: any) => each.message?.role === "assistant");
		const interrupted = ["aborted", "error"].includes(entry?.message.stopReason);
		const wanted = later;
		later = undefined;
		if (wanted && interrupted) return note(ctx, { event: "compact-failed", reason: "manual", aborted: true });
		if (wanted) return launch(ctx, wanted.instructions);
		if (!interrupted) return note(ctx, { event: "settled" });
	});
	on("model_select", (event, ctx) =>
		note(ctx, { event: "model", model: described(event.model) }),
	);

	pi.registerCommand("pemmican", {
		description: "What Pemmican does in this session: the settings in force, and where its log is",
		handler: async (_args, ctx) => {
			try {
				const line = await tell(ctx, { event: "status" });
				if (!line.notices?.length) ctx.ui.notify(JSON.stringify(line.status ?? null, undefined, 2), "info");
			} catch (error) {
				ctx.ui.notify(`Pemmican: ${message(error)}.`, "warning");
			}
		},
	});

	pi.on("session_shutdown", async () => {
		over = true;
		await sidecar?.end();
	});
}

function described(model: any): unknown {
	if (!model) return undefined;
	const { provider, id, contextWindow, maxTokens, baseUrl, cost } = model;
	return { provider, id, contextWindow, maxTokens, baseUrl, cost };
}

// Tokens are null between a compaction and the next answer: pi does not know either.
function used(ctx: ExtensionContext): unknown {
	const usage = ctx.getContextUsage();
	return usage && { tokens: usage.tokens, contextWindow: usage.contextWindow };
}

// Models are asked here, through pi's own registry: the sidecar never sees a key.

import {
	buildSessionContext,
	convertToLlm,
	type ExtensionAPI,
	type ExtensionContext,
	getAgentDir,
	SettingsManager,
} from "@earendil-works/pi-coding-agent";
import type { Ask } from "./sidecar.ts";

/** Asks the model of an ask, and returns the protocol's reply. entries are those of the compaction that it is for. */
export async function askModel(
	ask: Ask,
	entries: any[],
	pi: ExtensionAPI,
	ctx: ExtensionContext,
	signal: AbortSignal,
): Promise<Record<string, unknown>> {
	const registry: any = ctx.modelRegistry;
	const slash = ask.model.indexOf("/");
	const model =
		ask.mode === "same" && named(ctx.model) === ask.model
			? ctx.model
			: registry.find(ask.model.slice(0, slash), ask.model.slice(slash + 1));
	if (!model) return { text: "", stop: "error", unresolved: `pi knows no model ${ask.model}` };
	if (!registry.hasConfiguredAuth(model)) return { text: "", stop: "error", unresolved: `pi has no key for ${ask.model}` };
	const auth = await registry.getApiKeyAndHeaders(model);
	if (!auth.ok) return { text: "", stop: "error", unresolved: `pi has no key for ${ask.model}: ${auth.error}` };

	const [context, options] = ask.mode === "same" ? ownRequest(ask, entries, pi, ctx) : otherRequest(ask, model);
	const answer = await stream(registry, auth, model, context, { ...options, signal }).result();
	const blocks = (type: string) => answer.content.filter((block: any) => block.type === type);
	return {
		text: blocks("text").map((block: any) => block.text).join("\n"),
		reasoning: blocks("thinking").map((block: any) => block.thinking).join("\n"),
		calls: blocks("toolCall").map((block: any) => block.name),
		stop: answer.stopReason,
		error: answer.errorMessage,
		model: answer.responseModel ?? answer.model,
		usage: answer.usage,
	};
}

/** "provider/id" of a model. */
export function named(model: { provider: string; id: string } | undefined): string {
	return model ? `${model.provider}/${model.id}` : "";
}

/** pi's next request as it would be now, with the instruction as one more message: the provider's cache has the rest. */
function ownRequest(ask: Ask, entries: any[], pi: ExtensionAPI, ctx: ExtensionContext): [any, any] {
	const { images, thinkingBudgets } = settingsOf(pi, ctx);
	let messages: any[] = convertToLlm(buildSessionContext(entries).messages);
	if (images?.blockImages) messages = messages.map(withoutImages);
	messages.push({ role: "user", content: [{ type: "text", text: ask.instruction ?? "" }], timestamp: Date.now() });
	const level = pi.getThinkingLevel();
	const options = {
		sessionId: ctx.sessionManager.getSessionId(),
		reasoning: level === "off" ? undefined : level,
		thinkingBudgets,
		// The provider's state of the conversation must stay that of the conversation.
		disableContinuation: true,
	};
	// A newer pi keeps system text and tools in the session.
	if (messages[0].role === "system") return [{ messages }, options];
	const all = new Map(pi.getAllTools().map((tool) => [tool.name, tool]));
	const tools = pi.getActiveTools().flatMap((name) => {
		const tool = all.get(name);
		return tool ? [{ name, description: tool.description, parameters: tool.parameters }] : [];
	});
	return [{ systemPrompt: ctx.getSystemPrompt(), tools, messages }, options];
}

// settingsOf are pi's settings; an older pi has them in its files only.
function settingsOf(pi: any, ctx: ExtensionContext): { images?: { blockImages?: boolean }; thinkingBudgets?: object } {
	if (pi.getSettings) return pi.getSettings();
	const manager = SettingsManager.create(ctx.cwd, getAgentDir(), { projectTrusted: ctx.isProjectTrusted() });
	return { images: { blockImages: manager.getBlockImages() }, thinkingBudgets: manager.getThinkingBudgets() };
}

// withoutImages is a message as pi sends it where the person blocks images.
function withoutImages(message: any): any {
	if (!["user", "toolResult"].includes(message.role) || !Array.isArray(message.content)) return message;
	const text = "Image reading is disabled.";
	const content = message.content
		.map((block: any) => (block.type === "image" ? { type: "text", text } : block))
		.filter((block: any, i: number, all: any[]) => block.text !== text || all[i - 1]?.text !== text); // once for images in a row
	return { ...message, content };
}

function otherRequest(ask: Ask, model: any): [any, any] {
	const content = [{ type: "text", text: ask.user ?? "" }];
	return [
		{ systemPrompt: ask.system, messages: [{ role: "user", content, timestamp: Date.now() }] },
		// Only pi knows what the model can write at most.
		{ cacheRetention: "none", maxTokens: Math.min(ask.maxTokens || model.maxTokens, model.maxTokens) },
	];
}

/** Both ways lead to the same function of the provider; only a newer registry has one that takes pi's own options. */
function stream(registry: any, auth: any, model: any, context: any, options: any): any {
	if (registry.streamSimple) return registry.streamSimple(model, context, options);
	const { apiKey, headers, env } = auth;
	return registry
		.getProvider(model.provider)
		.streamSimple(auth.baseUrl ? { ...model, baseUrl: auth.baseUrl } : model, context, { ...options, apiKey, headers, env });
}

import type {Part} from '../../content.ts';
import {servedParts} from '../../events/served-parts.ts';
import type {UIMessageChunk} from './ui-message-chunk.ts';

type TextKind = 'text' | 'reasoning';

/** A piece of a reply: text that grows, or something that is there at once. */
type Piece = {readonly kind: TextKind; text: string} | {readonly kind: 'whole'; readonly key: string; readonly chunk: UIMessageChunk};

/**
 * One reply of a model, written as it comes. What its partial Events have shown is not repeated by the whole Event; where they have shown
 * something else (a hook changed the reply, or the model was asked again), the step is taken back and written anew.
 */
export class UIReply {
  readonly #nextId: () => string;
  readonly #shown: Piece[] = [];
  #open: {readonly kind: TextKind; readonly id: string} | undefined;

  /** @param nextId - makes the id of a block of text */
  constructor(nextId: () => string) {
    this.#nextId = nextId;
  }

  /** More of the reply. */
  add(parts: readonly Part[]): UIMessageChunk[] {
    return piecesOf(parts, true).flatMap((piece) => this.#show(piece));
  }

  /** The whole reply. */
  complete(parts: readonly Part[]): UIMessageChunk[] {
    const pieces = piecesOf(parts, false);
    const chunks: UIMessageChunk[] = [];
    if (!this.#shown.every((shown, at) => continues(pieces[at], shown, at === this.#shown.length - 1))) {
      chunks.push({type: 'reset-step'});
      this.#shown.length = 0;
      this.#open = undefined;
    }
    const last = this.#shown.length - 1;
    for (const [at, piece] of pieces.entries()) {
      const shown = this.#shown[at];
      if (piece.kind === 'whole') chunks.push(...(shown ? restOf(piece.chunk) : this.#show(piece)));
      else if (!shown) chunks.push(...this.#show(piece));
      else if (at === last && shown.kind !== 'whole')
        chunks.push(...this.#show({kind: piece.kind, text: piece.text.slice(shown.text.length)}));
    }
    return [...chunks, ...this.close()];
  }

  /** Nothing more of it comes. */
  close(): UIMessageChunk[] {
    const open = this.#open;
    this.#open = undefined;
    return open ? [{type: `${open.kind}-end`, id: open.id}] : [];
  }

  #show(piece: Piece): UIMessageChunk[] {
    if (piece.kind === 'whole') {
      this.#shown.push(piece);
      return [...this.close(), piece.chunk];
    }
    if (piece.text === '') return [];
    const last = this.#shown.at(-1);
    if (this.#open?.kind === piece.kind && last?.kind === piece.kind) {
      last.text += piece.text;
      return [{type: `${piece.kind}-delta`, id: this.#open.id, delta: piece.text}];
    }
    const chunks = this.close();
    const id = this.#nextId();
    this.#open = {kind: piece.kind, id};
    this.#shown.push({...piece});
    return [...chunks, {type: `${piece.kind}-start`, id}, {type: `${piece.kind}-delta`, id, delta: piece.text}];
  }
}

/** What there is still to say of something that was shown: the arguments of a call. */
function restOf(chunk: UIMessageChunk): UIMessageChunk[] {
  return chunk.type === 'tool-input-available' ? [chunk] : [];
}

function continues(piece: Piece | undefined, shown: Piece, isLast: boolean): boolean {
  if (piece?.kind === 'whole') return shown.kind === 'whole' && piece.key === shown.key;
  if (!piece || shown.kind === 'whole' || piece.kind !== shown.kind) return false;
  return isLast ? piece.text.startsWith(shown.text) : piece.text === shown.text;
}

function piecesOf(parts: readonly Part[], partial: boolean): Piece[] {
  const served = servedParts(parts);
  const pieces: Piece[] = [];
  // A server's response belongs to its first open call of that name; the call may have got an id of ours since.
  const open = [...served].flatMap(({functionCall}) => functionCall ?? []);
  for (const part of parts) {
    if (typeof part.text !== 'string') {
      const response = served.has(part) ? part.functionResponse : undefined;
      const [call] = response
        ? open.splice(
            open.findIndex(({name}) => name === response.name),
            1,
          )
        : [];
      const answer = call && {functionResponse: {...response, id: callIdOf(call)}};
      pieces.push(...wholePiece({...part, ...answer}, partial, served.has(part)));
      continue;
    }
    const kind = part.thought ? 'reasoning' : 'text';
    const last = pieces.at(-1);
    if (last?.kind === kind) last.text += part.text;
    else if (part.text !== '') pieces.push({kind, text: part.text});
  }
  return pieces;
}

function wholePiece(part: Part, partial: boolean, isServed: boolean): Piece[] {
  const {functionCall: call, functionResponse: response} = part;
  const byProvider = isServed && {providerExecuted: true as const};
  if (call) {
    const known = {toolCallId: callIdOf(call), toolName: call.name ?? '', ...byProvider};
    const key = `call ${known.toolCallId}`;
    // A piece of a call may come before its arguments are there.
    if (partial) return [{kind: 'whole', key, chunk: {type: 'tool-input-start', ...known}}];
    return [{kind: 'whole', key, chunk: {type: 'tool-input-available', ...known, input: call.args ?? {}}}];
  }
  const chunk: UIMessageChunk | undefined = response
    ? {type: 'tool-output-available', toolCallId: callIdOf(response), output: response.response, ...byProvider}
    : (fileChunk(part) ?? otherChunk(part));
  return chunk ? [{kind: 'whole', key: JSON.stringify(chunk), chunk}] : [];
}

/** What the protocol has no word for goes as it is, without what only the model can read. */
function otherChunk({thought: _thought, thoughtSignature: _signature, ...data}: Part): UIMessageChunk | undefined {
  return Object.keys(data).length > 0 ? {type: 'data-part', data} : undefined;
}

/** Calls have ids, unless an agent of the user's made them up. */
export function callIdOf({id, name}: {readonly id?: string; readonly name?: string}): string {
  return id ?? name ?? '';
}

function fileChunk({inlineData, fileData, thought}: Part): UIMessageChunk | undefined {
  const type = thought ? 'reasoning-file' : 'file';
  const mediaType = inlineData?.mimeType ?? fileData?.mimeType ?? 'application/octet-stream';
  if (inlineData?.data !== undefined) return {type, mediaType, url: `data:${mediaType};base64,${inlineData.data}`};
  return fileData?.fileUri === undefined ? undefined : {type, mediaType, url: fileData.fileUri};
}

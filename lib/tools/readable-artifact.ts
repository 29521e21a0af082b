import type {Part} from '../content.ts';

/** An artifact as a part that a model reads: itself, its text, or what there is to say of it. */
export function readableArtifact(artifact: Part, name: string): Part {
  const {inlineData} = artifact;
  if (!inlineData) return artifact;
  const mimeType = inlineData.mimeType?.split(';')[0]?.trim().toLowerCase() || 'application/octet-stream';
  if (MEDIA.test(mimeType)) return artifact;
  const bytes = bytesOf(inlineData.data ?? '');
  if (bytes && TEXT.test(mimeType)) return {text: new TextDecoder().decode(bytes)};
  const size = bytes ? `${bytes.length} bytes` : 'data that is not base64';
  return {text: `[${name} is of type ${mimeType}, ${size}, which you cannot look into.]`};
}

/** What Gemini reads as it is. */
const MEDIA = /^(?:image|audio|video)\/|^application\/pdf$/;
const TEXT = /^text\/|^application\/(?:csv|json|xml|yaml|javascript)$|\+(?:json|xml)$/;

/** The bytes of a base64 text in either alphabet; `undefined` where it is none. */
function bytesOf(base64: string): Uint8Array | undefined {
  try {
    return Uint8Array.from(atob(base64.replaceAll('-', '+').replaceAll('_', '/')), (unit) => unit.charCodeAt(0));
  } catch {
    return undefined;
  }
}

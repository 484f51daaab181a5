import { RpcError, StreamedAnswer } from '#libs/rpc';
import { noticePage, type Page } from '../document.js';
import { type Visit } from '../visit.js';

export function toHistory(visit: Visit) {
  return { href: visit.path('history'), text: visit.words.history.title };
}

export function fileOf(contentType: string, name: string, text: string): StreamedAnswer {
  const once = async function* () {
    yield await Promise.resolve(text);
  };
  return new StreamedAnswer(contentType, name, once());
}

/** Shows NOT_SEALED as what it is, not as a temporary failure. */
export async function sealed<Answer>(visit: Visit, make: () => Promise<Answer>): Promise<Answer | Page> {
  try {
    return await make();
  } catch (error) {
    if (!(error instanceof RpcError) || error.details.reason !== 'NOT_SEALED') throw error;
    const { words, person } = visit;
    const notice = { title: words.history.notSealed, text: words.reasons.NOT_SEALED! };
    return noticePage(words, notice, { status: 409, person });
  }
}

import { type Page } from '#libs/pages';
import { RpcError, StreamedAnswer } from '#libs/rpc';
import { noticePage } from '../document.js';
import { type PageContext } from '../page-context.js';

export function toHistory({ words, address }: PageContext) {
  return { href: address.path('history'), text: words.history.title };
}

export function fileOf(contentType: string, name: string, text: string): StreamedAnswer {
  const once = async function* () {
    yield await Promise.resolve(text);
  };
  return new StreamedAnswer(contentType, name, once());
}

/** Shows NOT_SEALED with its own page, because it is not a temporary failure. */
export async function sealed<Answer>(
  { words, person }: PageContext,
  make: () => Promise<Answer>,
): Promise<Answer | Page> {
  try {
    return await make();
  } catch (error) {
    if (!(error instanceof RpcError) || error.details.reason !== 'NOT_SEALED') throw error;
    const notice = { title: words.history.notSealed, text: words.reasons.NOT_SEALED! };
    return noticePage(words, notice, { status: 409, person });
  }
}

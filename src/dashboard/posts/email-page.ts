import { richText } from '#libs/pages';
import { noSuch } from '#libs/rpc';
import { type PageDefinition } from '../page.js';
import { type PageContext } from '../page-context.js';
import { ConfirmForm } from '../parts.js';
import { postOf, type PostRecord } from './post.js';

/** The preview text in a list of emails is rarely longer. */
const LONGEST_PREHEADER = 200;

/** Creates the draft of an email with the post to the signers of its petition. */
export const emailPage: PageDefinition = {
  path: 'posts/:post/email',
  needs: 'broadcast:write',
  show: async (context) => {
    const { title, text, button } = context.words.posts.emailing;
    const post = await updateOf(context);
    return context.view.page({
      section: 'posts',
      title,
      content: ConfirmForm(context, { text: text(post.title), button, back: `posts/${post.id}` }),
    });
  },
  act: async (context) => {
    const post = await updateOf(context);
    const { broadcastId } = await context.api.run<{ broadcastId: string }>('broadcast.create-broadcast', {
      name: post.title,
      preheader: post.description && [...post.description].slice(0, LONGEST_PREHEADER).join(''),
      ...(await messageOf(post, context.words.posts.emailing.read)),
      audience: { petitionIds: [post.petitionId] },
    });
    return { to: `broadcasts/${broadcastId}`, done: 'broadcasts.created' };
  },
};

/** @throws RpcError NOT_FOUND if the post is not about a petition. */
async function updateOf(context: PageContext): Promise<PostRecord> {
  const post = await postOf(context);
  if (post.petitionId === null) throw noSuch('petition');
  return post;
}

/** The text of the post, and a button that leads to its page. Text in another program's format becomes HTML. */
async function messageOf({ content, url, title, status }: PostRecord, read: string) {
  const text = markdownOf(content);
  const link = url !== null && status === 'PUBLISHED' ? url : null;
  if (text === undefined) {
    const button = link === null ? '' : `<p><a href="${link}" title="button">${read}</a></p>`;
    return { format: 'HTML', content: inMail(String((await richText.show(content)) ?? ''), url) + button };
  }
  const button = link === null ? '' : `\n\n[${read}](${link} "button")`;
  return { format: 'MARKDOWN', content: (inMail(text, url) || title) + button };
}

function markdownOf(content: unknown): string | undefined {
  if (content === null || content === undefined) return '';
  if (typeof content === 'string') return content;
  const { markdown } = content as { markdown?: unknown };
  return typeof markdown === 'string' ? markdown : undefined;
}

/** Images get full addresses, and braces stay text: in an email, they would enclose merge fields. */
function inMail(text: string, url: string | null): string {
  const origin = url === null ? '' : new URL(url).origin;
  return text
    .replaceAll(/(?<=\]\(|src=")\/images\//g, `${origin}/images/`)
    .replaceAll(/\{(?=[{%])/g, '{{ "{" }}');
}

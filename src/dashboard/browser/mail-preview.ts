/** Shows the email next to its form while someone writes it. In narrow windows, only after the button was pressed. */

const LIVE_MS = 800;
const isWide = matchMedia('(min-width:75rem)');
const section = document.querySelector<HTMLElement>('section.mail')!;
const subject = section.querySelector<HTMLElement>('[data-subject]')!;
const button = document.querySelector<HTMLButtonElement>('button[formtarget]')!;
const form = button.form!;
let shown = section.querySelector('iframe')!;
let loading: HTMLIFrameElement | undefined;
let timer: number | undefined;

// The frame is as high as its email, so that the panel keeps its place when the next one replaces it.
const measure = new ResizeObserver(() => {
  const { height } = shown.contentDocument!.documentElement.getBoundingClientRect();
  shown.style.height = `${Math.ceil(height)}px`;
});

const replaceWith = (frame: HTMLIFrameElement) => {
  // Null if the session has ended, or the server rejects more requests. The last preview stays.
  const email = frame.contentDocument;
  if (!email) return frame.remove();
  measure.disconnect();
  shown.remove();
  shown = frame;
  shown.classList.remove('loading');
  subject.textContent = email.title;
  subject.hidden = email.title === '';
  measure.observe(email.documentElement);
};

/** Sends the form as it is into a new frame. In the old one, each preview would become a page to go back to. */
const show = () => {
  clearTimeout(timer);
  loading?.remove();
  section.hidden = false;
  const frame = shown.cloneNode() as HTMLIFrameElement;
  loading = frame;
  frame.name = `mail-${Date.now()}`;
  frame.className = 'loading';
  shown.after(frame);
  frame.addEventListener('load', () => {
    // Some browsers also report the empty page that a frame starts with.
    if (frame !== loading || frame.contentDocument?.URL === 'about:blank') return;
    loading = undefined;
    replaceWith(frame);
  });
  form.action = button.formAction;
  form.target = frame.name;
  // Causes no submit event: nothing is saved.
  form.submit();
  form.removeAttribute('action');
  form.removeAttribute('target');
};

const showSoon = () => {
  button.hidden = isWide.matches;
  clearTimeout(timer);
  if (isWide.matches || !section.hidden) timer = setTimeout(show, LIVE_MS);
};
for (const event of ['input', 'change', 'reset']) form.addEventListener(event, showSoon);
isWide.addEventListener('change', showSoon);
button.addEventListener('click', (event) => {
  event.preventDefault();
  show();
  section.querySelector<HTMLElement>('h2')!.focus();
});
showSoon();

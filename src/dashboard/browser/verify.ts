import { type Task, type Told } from './verify-worker.js';

/** Fills the placeholders of a text: `{some} of {all}`. */
function filled(text: string, values: Record<string, string>): string {
  return text.replace(/\{(\w+)\}/g, (_, name: string) => values[name] ?? '');
}

type Words = Record<string, string> & { reasons: Record<string, string> };

function begin(form: HTMLFormElement): void {
  const words = JSON.parse(form.dataset.words!) as Words;
  const { dates } = form.dataset;
  const number = new Intl.NumberFormat(dates);
  const moment = new Intl.DateTimeFormat(dates, { dateStyle: 'long', timeStyle: 'medium', timeZone: 'UTC' });
  const find = <T extends HTMLElement>(selector: string) => form.querySelector<T>(selector)!;
  const [button, stop] = [find<HTMLButtonElement>('[data-start]'), find<HTMLButtonElement>('[data-stop]')];
  const [bar, progress] = [find<HTMLProgressElement>('progress'), find('[data-progress]')];
  const result = find('[data-result]');
  let worker: Worker | undefined;

  const isRunning = (running: boolean) => {
    button.disabled = running;
    stop.hidden = !running;
    bar.hidden = !running;
    progress.hidden = !running;
    // The start button is now disabled, so keyboard users continue at the stop button.
    if (running) stop.focus();
  };
  const mark = (name: string, isWrong: boolean) => {
    const [field, fault] = [find(`[name=${name}]`), find(`#${name}-fault`)];
    fault.hidden = !isWrong;
    field.closest('.field')!.classList.toggle('wrong', isWrong);
    field.setAttribute('aria-describedby', `${name}-hint${isWrong ? ` ${name}-fault` : ''}`);
    if (isWrong) field.setAttribute('aria-invalid', 'true');
    else field.removeAttribute('aria-invalid');
    if (isWrong) field.focus();
  };
  const end = () => {
    isRunning(false);
    worker?.terminate();
    worker = undefined;
  };
  const showResult = (isGood: boolean, ...sentences: string[]) => {
    end();
    result.className = isGood ? 'done' : 'faults';
    result.replaceChildren(
      ...sentences.map((sentence, n) => {
        const line = document.createElement('p');
        const inside = n === 0 ? line.appendChild(document.createElement('strong')) : line;
        inside.textContent = sentence;
        return line;
      }),
    );
    result.focus();
  };
  const onMessage = (message: Told) => {
    if ('progress' in message) {
      bar.max = Math.max(1, message.of);
      bar.value = Math.min(message.progress, message.of);
      const [some, all] = [number.format(message.progress), number.format(message.of)];
      progress.textContent = `${words.working!}: ${filled(words.of!, { some, all })}`;
      return;
    }
    if ('problem' in message) return showResult(false, words[message.problem]!);
    // A typo proves nothing about the history.
    if ('fault' in message) {
      end();
      return mark(message.fault, true);
    }
    const { ok, code, firstWrongPosition, provedEvents, newerEvents, checkpoint, warningCount } =
      message.verdict;
    const odd = warningCount > 0 ? [filled(words.warnings!, { count: number.format(warningCount) })] : [];
    if (ok) {
      const values = {
        events: number.format(provedEvents),
        newer: number.format(newerEvents),
        sealedAt: `${moment.format(new Date(checkpoint!.sealedAt))} UTC`,
      };
      const since = newerEvents > 0 ? [filled(words.newer!, values)] : [];
      return showResult(true, words.ok!, filled(words.okDetail!, values), ...since, ...odd);
    }
    // A wrong key or signature proves nothing about the history.
    if (code === 'unsigned' || code === 'signature')
      return showResult(false, words.unfitting!, words.reasons[code]!, words.unfittingDetail!);
    const where =
      firstWrongPosition === null
        ? words.wrongWhole!
        : filled(words.wrongAt!, { position: String(firstWrongPosition) });
    showResult(false, words.wrong!, words.reasons[code!]!, where);
  };

  form.addEventListener('submit', (event) => {
    event.preventDefault();
    result.replaceChildren();
    result.className = '';
    for (const name of ['key', 'checkpoint']) mark(name, false);
    isRunning(true);
    bar.removeAttribute('value');
    progress.textContent = words.working!;
    worker = new Worker(form.dataset.worker!, { type: 'module' });
    worker.onmessage = ({ data }: MessageEvent<Told>) => onMessage(data);
    worker.onerror = () => showResult(false, words.broken!);
    const typed = (name: string) => find<HTMLTextAreaElement>(`[name=${name}]`);
    // An empty checkpoint field means the newest checkpoint, which the page already contains. The key has no such default.
    const { value, defaultValue } = typed('checkpoint');
    // Text fields normalize line breaks, and copying may add spaces before them.
    const checkpoint = `${(value.trim() || defaultValue.trim()).replace(/[ \t]*\r?\n/g, '\n')}\n`;
    const address = new URL(form.dataset.export!, location.href).href;
    worker.postMessage({ address, checkpoint, key: typed('key').value.trim() } satisfies Task);
  });
  stop.addEventListener('click', () => showResult(false, words.stopped!));
  form.hidden = false;
}

document.querySelectorAll<HTMLFormElement>('form[data-export]').forEach(begin);

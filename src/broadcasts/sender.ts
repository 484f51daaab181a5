import { Inject, Injectable, Logger } from '@nestjs/common';
import { setTimeout as sleep } from 'node:timers/promises';
import { RecordReader } from '#libs/commands';
import { describeError, IncidentLog } from '#libs/database';
import { EventStore } from '#libs/event-store';
import { Mailer } from '#libs/mail';
import { type BackgroundWork } from '#libs/modules';
import { newId } from '#libs/random';
import { OperationRunner, systemInput } from '#libs/rpc';
import { Worker } from '#libs/work';
import { broadcast, exists } from './broadcast.js';
import { FinishBroadcast } from './finish-broadcast.js';
import { MessageBuilder, messageIdOf, type Recipient, type MessageTemplate } from './message-builder.js';
import { TemplateError } from './merge-fields.js';
import { ReachableContacts } from './reachable-contacts.js';
import { RECIPIENT_DETAILS } from './recipient-details.js';
import {
  ALIVE_SECONDS,
  type Claimed,
  HAS_WORK,
  later,
  Recipients,
  type Sending,
  type Settled,
} from './recipients.js';

/** While sending: how often to check for new work and for pauses. */
const POLL_MS = 250;
/** Outcomes within this time are stored together, or earlier once half of the messages in flight have ended. */
const GATHER_MS = 20;
const HEARTBEAT_MS = 2_000;
/**
 * A process considers itself dead this much earlier than others do, because its clock may run slower than the
 * database's.
 */
const MARGIN_MS = 2_000;
/** Pauses between attempts while the mail server is unavailable. Each attempt sends one message. */
const SHORTEST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 15_000;
const UNREACHABLE_SECONDS = 5;
/** The parts shared by all messages of a broadcast are cached for this long. */
const TEMPLATE_MS = 10_000;
/**
 * How long to wait for messages in flight when the program stops. Closing the mailer then waits a little
 * longer.
 */
const LONGEST_STOP_MS = 5_000;
/** If a message waited for longer, its recipient is checked again before it leaves. */
const FRESH_MS = 250;
/** A hundred times the usual time to render a message. */
const SLOW_MS = 50;
const FORGET_EVERY_MS = 3_600_000;
const IDLE_POLL_MS = 3_600_000;
const ACTOR = 'broadcasts';

/** Days after which recipients of finished broadcasts are deleted; 0: never. */
export const BROADCAST_RECIPIENT_DAYS = Symbol('BROADCAST_RECIPIENT_DAYS');

/**
 * Sends broadcasts. Every instance claims as many messages as it has connections to the mail server, and
 * commits each claim before sending. There is no leader. If a process crashes, its claimed messages are marked
 * as in doubt, and no process sends them.
 */
@Injectable()
export class BroadcastSender implements BackgroundWork {
  private readonly holder = newId();
  private readonly logger = new Logger('broadcasts');
  private readonly worker: Worker;
  private flushing: Promise<void> | undefined;

  /** Messages that this process has claimed and whose outcome is not stored yet. */
  private readonly inFlight = new Map<string, Claimed>();
  private settled: Settled[] = [];
  private hasGathered: () => void = () => undefined;
  /**
   * Aborted when waiting messages must not leave: the broadcast was paused or cancelled, or this process is
   * stopping or counts as dead.
   */
  private readonly halting = new Map<string, AbortController>();
  private readonly templates = new Map<
    string,
    { template: Promise<MessageTemplate | undefined>; at: number }
  >();
  private sending: readonly Sending[] = [];
  /** Sendings that had no more messages to claim at the last attempt. */
  private readonly dry = new Set<string>();
  /** Sendings that cannot continue, and when to try them again. */
  private readonly resting = new Map<string, number>();
  /** Until when other processes consider this one alive (`performance.now()`). */
  private aliveUntil = 0;
  private heartbeatAt = 0;
  private mayHaveLostClaims = false;
  /** Used while the mail server is unavailable. */
  private failures = 0;
  private pausedUntil = 0;

  constructor(
    private readonly store: EventStore,
    private readonly recipients: Recipients,
    private readonly messageBuilder: MessageBuilder,
    private readonly mailer: Mailer,
    private readonly reachable: ReachableContacts,
    private readonly records: RecordReader,
    private readonly runner: OperationRunner,
    private readonly incidents: IncidentLog,
    @Inject(BROADCAST_RECIPIENT_DAYS) private readonly recipientDays: number,
  ) {
    this.worker = new Worker((error) => this.report(error));
  }

  start(): void {
    const { worker } = this;
    const poller = this.store.pulse.watch(HAS_WORK);
    const wait = async (hasFailed: boolean) => {
      if (hasFailed) await worker.pause(POLL_MS);
      const isSending = this.sending.length > 0 || this.inFlight.size > 0;
      await poller.next(worker.signal, isSending ? POLL_MS : IDLE_POLL_MS);
    };
    worker.start(() => this.poll(), wait);
    const untilNext = (hasFailed: boolean) => worker.pause(hasFailed ? POLL_MS : FORGET_EVERY_MS);
    worker.start(() => this.deleteOld(), untilNext);
  }

  /** Messages in flight are completed. Those that have not left are released for other processes. */
  async stop(): Promise<void> {
    await this.worker.stop();
    for (const controller of this.halting.values()) controller.abort();
    const latest = performance.now() + LONGEST_STOP_MS;
    while (this.inFlight.size > 0 && performance.now() < latest) {
      await this.flush();
      if (this.inFlight.size > 0) await sleep(20);
    }
    // A process with unsettled messages stays registered. Others wait until it counts as dead.
    if (this.heartbeatAt > 0 && this.inFlight.size === 0)
      await this.recipients.leave(this.holder).catch(() => undefined);
  }

  /** Handles all broadcasts that are not over, once. */
  private async poll(): Promise<void> {
    const open = await this.recipients.open();
    // Includes those without pending recipients: their last messages may be in flight.
    this.sending = open.filter(({ status }) => status === 'SENDING');
    this.dry.clear();
    this.halt(new Set(this.sending.map(({ id }) => id)));
    if (this.sending.length > 0 || this.inFlight.size > 0) await this.sendHeartbeat();
    if (open.some(({ hasClaimed }) => hasClaimed)) {
      const message =
        'a process crashed while sending: its messages are marked IN_DOUBT. broadcast.retry-recipients sends them again';
      for (const doubted of await this.recipients.reapDeadSenders(open.map(({ id }) => id)))
        this.logger.warn({ message, ...doubted });
    }
    for (const one of open) await this.settle(one);
    if (this.sending.length > 0) void this.flush();
  }

  /** Runs in parallel with sending, because there can be millions. */
  private async deleteOld(): Promise<void> {
    await this.recipients.forget();
    if (this.recipientDays === 0) return;
    while (!this.worker.signal.aborted && (await this.recipients.deleteOld(this.recipientDays)));
  }

  /** Finishes a broadcast that has no recipients left. */
  private async settle({
    id,
    organizationId,
    broadcastId,
    status,
    hasPending,
    hasClaimed,
  }: Sending): Promise<void> {
    if (status === 'CANCELLED' && hasPending) hasPending = !(await this.recipients.skipPending(id));
    if (hasPending || hasClaimed) return;
    if (status === 'SENDING') {
      await this.runner.execute(systemInput(FinishBroadcast, organizationId, { broadcastId }, ACTOR));
    } else if (status === 'SENT' || status === 'CANCELLED') {
      await this.recipients.close(id);
    }
  }

  /** Keeps waiting messages of all other broadcasts from leaving. */
  private halt(sending: ReadonlySet<string>): void {
    for (const [id, controller] of this.halting) {
      if (sending.has(id)) continue;
      controller.abort();
      this.halting.delete(id);
      this.templates.delete(id);
    }
    for (const id of sending) if (!this.halting.has(id)) this.halting.set(id, new AbortController());
  }

  private async sendHeartbeat(): Promise<void> {
    const now = performance.now();
    if (now - this.heartbeatAt < HEARTBEAT_MS) return;
    await this.recipients.sayAlive(this.holder);
    this.heartbeatAt = now;
    this.aliveUntil = now + ALIVE_SECONDS * 1_000 - MARGIN_MS;
  }

  private get isAlive(): boolean {
    return performance.now() < this.aliveUntil;
  }

  /** Stores outcomes and claims further messages until neither is left. Runs one statement at a time. */
  private flush(): Promise<void> {
    this.flushing ??= this.flushAll().finally(() => {
      this.flushing = undefined;
    });
    return this.flushing;
  }

  private async flushAll(): Promise<void> {
    for (;;) {
      const settled = this.settled;
      const wanted = this.wanted();
      if (settled.length === 0 && wanted.length === 0) return;
      this.settled = [];
      try {
        if (this.mayHaveLostClaims) {
          await this.recipients.releaseUnknown(this.holder, [...this.inFlight.values()]);
          this.mayHaveLostClaims = false;
        }
        const claimed = await this.recipients.settleAndClaim(this.holder, settled, wanted);
        for (const one of settled) this.inFlight.delete(nameOf(one));
        for (const { sendingId, count } of wanted) {
          if (claimed.filter((one) => one.sendingId === sendingId).length < count) this.dry.add(sendingId);
        }
        for (const one of claimed) this.inFlight.set(nameOf(one), one);
        this.deliverAll(claimed);
        await this.gather();
      } catch (error) {
        this.settled = [...settled, ...this.settled];
        this.mayHaveLostClaims = true;
        this.report(error);
        // The next poll retries it.
        return;
      }
    }
  }

  /** Waits briefly: a statement for several messages costs the database little more than for one. */
  private async gather(): Promise<void> {
    let timer: NodeJS.Timeout;
    await new Promise<void>((resolve) => {
      timer = setTimeout(resolve, GATHER_MS);
      this.hasGathered = resolve;
      this.checkGathered();
    });
    clearTimeout(timer!);
  }

  private checkGathered(): void {
    if (this.settled.length * 2 >= this.inFlight.size) this.hasGathered();
  }

  /** Divides the free connections among the broadcasts. */
  private wanted(): { sendingId: string; count: number }[] {
    const now = performance.now();
    if (this.worker.signal.aborted || !this.isAlive || now < this.pausedUntil) return [];
    const most = this.failures > 0 ? 1 : this.mailer.concurrency;
    let free = most - this.inFlight.size + this.settled.length;
    const able = this.sending.filter(
      ({ id, hasPending }) =>
        hasPending && !this.dry.has(id) && this.halting.has(id) && now >= (this.resting.get(id) ?? 0),
    );
    return able.flatMap(({ id }, n) => {
      const count = Math.ceil(free / (able.length - n));
      free -= count;
      return count > 0 ? [{ sendingId: id, count }] : [];
    });
  }

  private deliverAll(claimed: readonly Claimed[]): void {
    const bySending = new Map<string, Claimed[]>();
    for (const one of claimed) bySending.set(one.sendingId, [...(bySending.get(one.sendingId) ?? []), one]);
    for (const [sendingId, messages] of bySending) void this.deliver(sendingId, messages);
  }

  /** Never rejects. */
  private async deliver(sendingId: string, messages: readonly Claimed[]): Promise<void> {
    const sending = this.sending.find(({ id }) => id === sendingId);
    const signal = this.halting.get(sendingId)?.signal;
    let template: MessageTemplate | undefined;
    let recipients: (Recipient | string)[];
    try {
      template = sending && (await this.templateOf(sending));
      recipients = sending ? await this.recipientsOf(sending, messages) : [];
    } catch (error) {
      this.report(error);
      this.resting.set(sendingId, performance.now() + SHORTEST_PAUSE_MS);
      template = undefined;
      recipients = [];
    }
    if (!template || !signal) {
      for (const one of messages) this.record(settledAs(one, 'PENDING', null));
      return;
    }
    const checkedAt = performance.now();
    for (const [n, one] of messages.entries())
      void this.deliverOne(one, recipients[n]!, template, { sending: sending!, signal, checkedAt });
  }

  /** Never rejects. */
  private async deliverOne(
    one: Claimed,
    recipient: Recipient | string,
    template: MessageTemplate,
    { sending, signal: halted, checkedAt }: { sending: Sending; signal: AbortSignal; checkedAt: number },
  ): Promise<void> {
    if (typeof recipient === 'string') return this.record(settledAs(one, 'SKIPPED', recipient));
    let message;
    try {
      const id = messageIdOf(template.broadcastId, recipient.id);
      const letter = await this.messageBuilder.write(template, recipient);
      this.recordRenderTime(sending.id, letter.took);
      message = this.messageBuilder.message(template, letter, recipient.email!, id);
    } catch (error) {
      if (error instanceof TemplateError) this.recordRenderTime(sending.id, error.took);
      // Retried later: it may have taken too long only because the machine stalled.
      return this.record(later(one, describeError(error)));
    }
    if (halted.aborted || !this.isAlive) return this.record(settledAs(one, 'PENDING', null));
    const stopped = new AbortController();
    const signal = AbortSignal.any([halted, stopped.signal]);
    let now: Recipient | string = recipient;
    /**
     * Messages wait for the mail server and MAIL_RATE. In that time, the contact may have been erased, or this
     * process may count as dead.
     */
    const recheck = async () => {
      if (performance.now() - checkedAt < FRESH_MS) return;
      try {
        [now = recipient] = await this.recipientsOf(sending, [one]);
        const isMeant = typeof now !== 'string' && now.email === recipient.email;
        if (!isMeant || !this.isAlive) stopped.abort();
      } catch (error) {
        this.report(error);
        stopped.abort();
      }
    };
    const sent = await this.mailer.send(message, signal, recheck).catch((error: unknown) => {
      this.report(error);
      return { outcome: 'in-doubt', detail: RECIPIENT_DETAILS.failed } as const;
    });
    const couldBeUsed = this.failures === 0;
    this.onResult(sent.outcome, sent.detail, signal.aborted);
    switch (sent.outcome) {
      case 'sent':
        return this.record(settledAs(one, 'SENT', sent.detail));
      case 'refused':
        return this.record(sent.permanent ? settledAs(one, 'FAILED', sent.detail) : later(one, sent.detail));
      case 'unreachable':
        if (typeof now === 'string') return this.record(settledAs(one, 'SKIPPED', now));
        if (signal.aborted) return this.record(settledAs(one, 'PENDING', null));
        // This message itself may cause the server to hang up. So others go first, and if the server accepts
        // connections, it counts as an attempt.
        return this.record(
          couldBeUsed || (await this.mailer.isUsable())
            ? later(one, sent.detail)
            : { ...settledAs(one, 'PENDING', sent.detail), pauseSeconds: UNREACHABLE_SECONDS },
        );
      case 'in-doubt':
        return this.record(settledAs(one, 'IN_DOUBT', sent.detail));
    }
  }

  /**
   * One thread renders all messages. Broadcasts with a slow template get few of its turns, so that others get
   * most of its time.
   */
  private recordRenderTime(sendingId: string, took: number): void {
    if (took > SLOW_MS) this.resting.set(sendingId, performance.now() + 10 * took);
  }

  private recipientsOf(
    { organizationId }: Sending,
    messages: readonly Claimed[],
  ): Promise<(Recipient | string)[]> {
    const ids = messages.map(({ contactId }) => contactId);
    return this.reachable.find(organizationId, ids, { mustBeSubscribed: true });
  }

  private record(settled: Settled): void {
    this.settled.push(settled);
    this.checkGathered();
    void this.flush();
  }

  /** Retries an unavailable mail server with one message and increasing pauses. */
  private onResult(outcome: string, detail: string, wasHalted: boolean): void {
    if (outcome === 'unreachable') {
      if (wasHalted) return;
      this.failures += 1;
      const pause = Math.min(SHORTEST_PAUSE_MS * 2 ** Math.min(this.failures - 1, 10), LONGEST_PAUSE_MS);
      this.pausedUntil = performance.now() + pause;
      // Logged once, not per message.
      if (this.failures === 1) {
        this.logger.warn({
          message: 'the mail server is unavailable: broadcasts are waiting',
          reason: detail,
        });
        this.recordWaiting(detail);
      }
    } else if (this.failures > 0) {
      this.failures = 0;
      this.pausedUntil = 0;
      this.logger.log({ message: 'the mail server is available again: broadcasts continue' });
      this.recordWaiting(null);
    }
  }

  private recordWaiting(detail: string | null): void {
    const ids = this.sending.map(({ id }) => id);
    void this.recipients.noteWaiting(ids, detail).catch((error: unknown) => this.report(error));
  }

  private templateOf(sending: Sending): Promise<MessageTemplate | undefined> {
    const { id } = sending;
    const known = this.templates.get(id);
    if (known && performance.now() - known.at < TEMPLATE_MS) return known.template;
    const template = this.prepare(sending);
    this.templates.set(id, { template, at: performance.now() });
    template.catch(() => this.templates.delete(id));
    return template;
  }

  /** Undefined if it can no longer be sent, for example because its sender was removed. */
  private async prepare({ id, organizationId, broadcastId }: Sending): Promise<MessageTemplate | undefined> {
    const { state } = await this.records.load(broadcast, organizationId, broadcastId);
    if (!exists(state)) return undefined;
    const { writing: template, blockers } = await this.messageBuilder.prepare(
      organizationId,
      broadcastId,
      state,
      null,
      state.countClicks,
    );
    if (blockers.length === 0) return template;
    this.resting.set(id, performance.now() + TEMPLATE_MS);
    const reasons = blockers.map(({ blocker }) => blocker);
    this.logger.warn({ message: 'a broadcast cannot continue', broadcastId, reasons });
    return undefined;
  }

  private report(error: unknown): void {
    if (this.incidents.report(error)) return;
    this.logger.warn({
      message: 'processing broadcasts failed: it will be retried',
      reason: describeError(error),
    });
  }
}

function nameOf({ sendingId, contactId }: { sendingId: string; contactId: string }): string {
  return `${sendingId} ${contactId}`;
}

function settledAs(
  { sendingId, contactId, attempts }: Claimed,
  status: Settled['status'],
  detail: string | null,
): Settled {
  return { sendingId, contactId, attempts, status, detail, pauseSeconds: 0 };
}

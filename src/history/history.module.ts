import './events-about.js';
import { ProductModule } from '#libs/modules';
import { Activity } from './activity.js';
import { DailyCounts } from './daily-counts.js';
import { historyAccess, historyReads } from './access.js';
import { HistoryPaging } from './history-paging.js';
import { HistoryReads } from './history-reads.js';
import { LogController } from './log.controller.js';
import * as operations from './operations.js';
import { register, Register } from './register.js';
import { reasons } from './reasons.js';
import { signingKey } from './signing-key.js';

@ProductModule({
  operations,
  services: { history: 'The audit log: every event, with proofs that nothing was changed.' },
  reasons,
  streams: [historyAccess, historyReads, register, signingKey],
  controllers: [LogController],
  providers: [Activity, DailyCounts, HistoryPaging, HistoryReads, Register],
  exports: [DailyCounts],
})
export class HistoryModule {}

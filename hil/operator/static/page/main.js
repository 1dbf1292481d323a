/** The operator's page: one more client of the rig, with no power that a script has not. */

import { startBar } from "./bar.js";
import { startCampaign } from "./campaign.js";
import { Connection } from "./connection.js";
import { deviceSeries, startDevices } from "./devices.js";
import { read } from "./dom.js";
import { startLog } from "./log.js";
import { startLoop } from "./loop.js";
import { Newest } from "./newest.js";
import { startOperate } from "./operate.js";
import { roverSeries, startRover } from "./rover.js";
import { startRuns } from "./runs.js";
import { startSettings } from "./settings.js";
import { startTraces, traceSeries } from "./traces.js";

const connection = new Connection();
startBar(connection); // first of all: the stop works whatever else is missing
startLog(connection);
connection.open();

const config = await read("/api/config");
document.title = `${config.name} - rover rig`;
const newest = new Newest(connection);
startOperate(connection, config);
startSettings(connection, config);
startRover(config, newest);
const earlier = startTraces(connection, config, newest, [...traceSeries(config), ...roverSeries(config), ...deviceSeries(config)]);
const showTiming = startLoop(config);
const showTrials = startCampaign(connection, config);
startDevices(connection, config, newest);
startRuns(connection, (runs) => { earlier.offer(runs); showTrials(runs); }, showTiming);

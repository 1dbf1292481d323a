"""Plain use of nidaqmx on the simulated chassis: Task.read and Task.write."""

import nidaqmx
import numpy as np
import pytest
from nidaqmx.constants import READ_ALL_AVAILABLE, AcquisitionType, LineGrouping
from nidaqmx.stream_readers import AnalogMultiChannelReader, AnalogSingleChannelReader
from nidaqmx.stream_writers import AnalogSingleChannelWriter

LSB_V = 2 * 10.0 / 2**24  # of the simulated converters
INPUTS, LINES = "cDAQ1Mod1/ai0:1", "cDAQ1Mod2/port0/line0:3"


def test_a_task_without_a_clock_reads_the_present_voltages(simulated_ni_chassis, task):
    simulated_ni_chassis.inputs[0], simulated_ni_chassis.inputs[1] = 1.5, -2.0
    one, two = task(), task()
    one.ai_channels.add_ai_voltage_chan("cDAQ1Mod1/ai0")
    assert one.read() == pytest.approx(1.5, abs=LSB_V)
    assert one.read(3) == pytest.approx([1.5] * 3, abs=LSB_V)
    assert AnalogSingleChannelReader(one.in_stream).read_one_sample() == pytest.approx(1.5, abs=LSB_V)
    two.ai_channels.add_ai_voltage_chan("cDAQ1Mod1/ai1:2")
    assert two.read() == pytest.approx([-2.0, 0.0], abs=LSB_V)
    assert np.shape(two.read(4)) == (2, 4)
    simulated_ni_chassis.inject_fault("wrong_value", by=0.25)
    assert one.read() == pytest.approx(1.75, abs=LSB_V)
    simulated_ni_chassis.end_faults()
    assert one.read() == pytest.approx(1.5, abs=LSB_V)


def test_a_finite_task_takes_its_samples_at_its_rate_and_can_do_so_again(simulated_ni_chassis, task):
    simulated_ni_chassis.inputs[1] = lambda t_s: np.sin(2 * np.pi * 50.0 * t_s)
    sampled = task()
    sampled.ai_channels.add_ai_voltage_chan(INPUTS)
    sampled.timing.cfg_samp_clk_timing(2000, sample_mode=AcquisitionType.FINITE, samps_per_chan=200)
    assert (sampled.timing.samp_clk_rate, sampled.timing.samp_quant_samp_per_chan) == (2000.0, 200)
    for _ in range(2):  # a task that a read has started ends by itself
        still, wave = np.array(sampled.read(READ_ALL_AVAILABLE))
        assert still == pytest.approx(0.0, abs=LSB_V)
        assert len(wave) == 200
        spectrum = np.abs(np.fft.rfft(wave))
        assert np.argmax(spectrum) == 5  # 50 Hz in 0.1 s
        assert spectrum[5] == pytest.approx(100.0, rel=1e-3)
    sampled.start()
    sampled.wait_until_done()
    assert sampled.is_task_done()
    assert np.shape(sampled.read(150)) == (2, 150)
    with pytest.raises(nidaqmx.DaqError) as refused:
        sampled.read(51)
    assert refused.value.error_code == -200278


def test_a_continuous_task_loses_and_doubles_no_sample(simulated_ni_chassis, task):
    simulated_ni_chassis.inputs[0] = lambda t_s: (t_s * 1000.0) % 8.0
    sampled = task()
    sampled.ai_channels.add_ai_voltage_chan(INPUTS, min_val=-10.0, max_val=10.0)
    sampled.timing.cfg_samp_clk_timing(1000, sample_mode=AcquisitionType.CONTINUOUS, samps_per_chan=1_000_000)
    sampled.start()
    first = np.array(sampled.read(20))
    block = np.empty((2, 30))
    AnalogMultiChannelReader(sampled.in_stream).read_many_sample(block, 30)
    steps = np.diff(np.hstack((first, block))[0]) % 8.0
    assert steps == pytest.approx(1.0, abs=1e-3)
    assert sampled.in_stream.curr_read_pos == 50
    assert sampled.in_stream.total_samp_per_chan_acquired >= 50
    assert sampled.ai_channels[0].ai_max == 10.0
    assert not sampled.is_task_done()
    with pytest.raises(nidaqmx.DaqError):  # its clock runs
        sampled.timing.cfg_samp_clk_timing(500)
    sampled.stop()


def test_several_tasks_write_outputs_and_read_inputs_at_a_time(simulated_ni_chassis, task):
    outputs, inputs = task(), task()
    outputs.ao_channels.add_ao_voltage_chan("cDAQ1Mod3/ao0:1")
    inputs.ai_channels.add_ai_voltage_chan("cDAQ1Mod1/ai3")
    outputs.write([1.25, 2.5])
    assert inputs.read() == pytest.approx(0.0, abs=LSB_V)
    assert simulated_ni_chassis.outputs == {"cDAQ1Mod3/ao0": 1.25, "cDAQ1Mod3/ao1": 2.5}
    assert simulated_ni_chassis.cylinders.set_Pa == pytest.approx([125e3, 250e3])
    with pytest.raises(nidaqmx.DaqError) as refused:
        outputs.write([10.5, 0.0])
    assert refused.value.error_code == -200561


def test_an_output_generates_its_samples_with_its_clock_and_keeps_the_last(simulated_ni_chassis, task):
    output = task()
    output.ao_channels.add_ao_voltage_chan("cDAQ1Mod3/ao0")
    output.timing.cfg_samp_clk_timing(1000, sample_mode=AcquisitionType.FINITE, samps_per_chan=20)
    assert AnalogSingleChannelWriter(output.out_stream).write_many_sample(np.linspace(0.5, 5.0, 20)) == 20
    assert simulated_ni_chassis.outputs["cDAQ1Mod3/ao0"] == 0.0  # nobody has started it
    output.start()
    output.wait_until_done()
    assert simulated_ni_chassis.outputs["cDAQ1Mod3/ao0"] == 5.0
    assert output.out_stream.total_samp_per_chan_generated == 20


@pytest.mark.parametrize(
    ("lines", "grouping", "value", "on"),
    [
        (LINES, LineGrouping.CHAN_FOR_ALL_LINES, 0b0101, [0, 2]),
        (LINES, LineGrouping.CHAN_PER_LINE, [True, True, False, False], [0, 1]),
        ("cDAQ1Mod2/port0/line4:5", LineGrouping.CHAN_FOR_ALL_LINES, 0b100000, [5]),
        ("cDAQ1Mod2/port0/line3", LineGrouping.CHAN_FOR_ALL_LINES, True, [3]),
        ("cDAQ1Mod2/port0", LineGrouping.CHAN_FOR_ALL_LINES, 0xF0, [4, 5, 6, 7]),
    ],
)
def test_lines_are_written_and_read_back_alone_or_in_a_group(simulated_ni_chassis, task, lines, grouping, value, on):
    output = task()
    output.do_channels.add_do_chan(lines, line_grouping=grouping)
    assert output.write(value) == 1
    powered = [name.removeprefix("cDAQ1Mod2/port0/line") for name, level in simulated_ni_chassis.lines.items() if level]
    assert powered == [str(number) for number in on]
    assert output.read() == value


def test_the_emergency_stop_is_read_as_a_line(simulated_ni_chassis, task):
    line, port = task(), task()
    line.di_channels.add_di_chan("cDAQ1Mod4/port0/line0")
    port.di_channels.add_di_chan("cDAQ1Mod4/port0")
    assert (line.read(), port.read()) == (True, 1)
    simulated_ni_chassis.press_e_stop()
    assert (line.read(), line.read(2), port.read()) == (False, [False, False], 0)


def test_reads_fail_and_the_server_is_gone_for_as_long_as_a_test_wants(simulated_ni_chassis, task):
    inputs = task()
    inputs.ai_channels.add_ai_voltage_chan("cDAQ1Mod1/ai0")
    simulated_ni_chassis.inject_fault("error", answers=1, code=-200279)
    with pytest.raises(nidaqmx.DaqError) as failed:
        inputs.read()
    assert failed.value.error_code == -200279
    assert inputs.read() == pytest.approx(0.0, abs=LSB_V)
    simulated_ni_chassis.inject_fault("late", answers=1, late_ms=1.0)
    assert inputs.read() == pytest.approx(0.0, abs=LSB_V)
    with pytest.raises(ValueError, match="allowed: late, error, silent, wrong_value"):
        simulated_ni_chassis.inject_fault("damaged")


def test_an_attribute_that_is_not_simulated_is_refused_by_its_number(task):
    inputs = task()
    inputs.ai_channels.add_ai_voltage_chan("cDAQ1Mod1/ai0")
    with pytest.raises(nidaqmx.DaqError, match=r"0x1095 is not supported.*GetChanAttributeInt32|0x.* is not supported"):
        _ = inputs.ai_channels[0].ai_coupling
